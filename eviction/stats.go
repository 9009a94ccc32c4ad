package eviction

import "context"

// StatsProvider measures the node.
type StatsProvider interface {
	// Observe measures every signal that this node can give, now. A signal
	// that can't be measured is left out: missing is not zero. Times never go
	// back from one call to the next. Observe may be called from many
	// goroutines.
	Observe(ctx context.Context) ([]Observation, error)
}

// StatsFunc makes a StatsProvider of a function.
type StatsFunc func(ctx context.Context) ([]Observation, error)

// Observe calls f.
func (f StatsFunc) Observe(ctx context.Context) ([]Observation, error) { return f(ctx) }
