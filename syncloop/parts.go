package syncloop

import (
	"encoding/json"
	"fmt"
)

// Part is something that a host runs beside the loop, eviction say. Health and
// Dump tell of it too, so that one question has one answer. The funcs may be nil;
// they are called by whoever asks, from any goroutine, and must not block.
type Part struct {
	// Name of the part in a dump, and in Health unless its check has another one.
	// Each has its own.
	Name string
	// Health tells how the part does.
	Health func() HealthCheck
	// Dump gives what a dump holds of the part, to be written as JSON. It holds
	// no secrets.
	Dump func() any
}

// health is what the part says, under its name unless it says another.
func (p Part) health() HealthCheck {
	c := p.Health()
	if c.Name == "" {
		c.Name = p.Name
	}
	return c
}

// checkParts gives an error for parts that could not be told apart.
func checkParts(parts []Part) error {
	seen := map[string]bool{}
	for i, p := range parts {
		switch {
		case p.Name == "":
			return fmt.Errorf("syncloop: Config.Parts[%d] has no Name", i)
		case seen[p.Name]:
			return fmt.Errorf("syncloop: Config.Parts[%d] is another one called %q", i, p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

// dumpParts is what the parts of the host know, by their names.
func (l *SyncLoop) dumpParts() map[string]json.RawMessage {
	parts := map[string]json.RawMessage{}
	for _, p := range l.cfg.Parts {
		if p.Dump == nil {
			continue
		}
		data, err := json.Marshal(p.Dump())
		if err != nil { // a dump with a gap is better than none
			data, _ = json.Marshal(map[string]string{"error": err.Error()})
		}
		parts[p.Name] = data
	}
	return parts
}
