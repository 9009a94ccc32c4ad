package probe

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// pod, container and entry are what a Manager keeps of each.
type pod struct {
	ref        runtime.PodRef
	containers []*container
	// flying is how many of its probes are in flight; held are those whose
	// turn has come beyond its share.
	flying int
	held   *queue
}

type container struct {
	pod     *pod
	name    string
	ip      string
	state   State
	spec    *spec // nil if it says nothing that probes need
	entries []*entry
	init    bool
}

type spec struct {
	ports []v1.ContainerPort
	env   []v1.EnvVar
}

type entry struct {
	of      *container
	name    string
	action  v1.ProbeHandler
	tracker Tracker
	flight  *flight
	last    *lastAttempt
	pace    *pace
	index   int32 // in the heap
	lane    lane
	queued  bool  // in a lane, or held by its pod
	dirty   int32 // its place among those that are to be taken, from 1; 0 is none
	removed bool
}

// lastAttempt is what is remembered of an attempt.
type lastAttempt struct {
	at     int64 // in nanoseconds, as UnixNano has it
	result Result
	output string
	err    error
}

// kept is what is remembered of an output: all of what a host observes, and as
// much as people are shown of the rest, of which there may be 10 KiB each.
func kept(kind kindCode, output string) string {
	if kind != observe {
		return beginning(output)
	}
	return output
}

// keptError is an error with as much of its text, which may quote what a manifest or
// a server has tens of kilobytes of.
func keptError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if short := beginning(text); short != text {
		return errors.New(short)
	}
	return err
}

func beginning(text string) string {
	if most := messageLimit + utf8.UTFMax; len(text) > most {
		return strings.Clone(text[:most])
	}
	return text
}

func newEntry(c *container, p *Probe) *entry {
	return &entry{
		of: c, name: p.Name, index: notInHeap, lane: fresh,
		tracker: NewTracker(p.Kind, p.Settings, spreadOf(c.pod.ref.UID, c.name, p.Name)),
	}
}

func find(list []*container, name string) *container {
	for _, c := range list {
		if c.name == name {
			return c
		}
	}
	return nil
}

func findProbe(list []*entry, name string) *entry {
	for _, e := range list {
		if e.name == name {
			return e
		}
	}
	return nil
}

// stateFor is what a probe is told of its container: the gate opens when the
// startup probe has succeeded, which then is on hold, and at once if there is
// none. A stop, which ends that probe, does not open it.
func (c *container) stateFor(e *entry) State {
	s := c.state
	s.NoAddress = c.ip == "" && needsAddress(&e.action)
	if e.tracker.kind == startup || s.Started {
		return s
	}
	s.Started = true
	for _, other := range c.entries {
		if other.tracker.kind == startup {
			s.Started = other.tracker.ContainerID() == s.ContainerID && other.tracker.hold && other.tracker.verdict == success
		}
	}
	return s
}

func (e *entry) key() Key {
	return Key{Pod: e.of.pod.ref, Container: e.of.name, Probe: e.name}
}

func (e *entry) target() Target {
	c := e.of
	t := Target{
		Pod: c.pod.ref, Container: c.name, ContainerID: e.tracker.ContainerID(), Probe: e.name,
		IP: c.ip, Action: e.action,
	}
	if c.spec != nil {
		t.Ports, t.Env = c.spec.ports, c.spec.env
	}
	return t
}

func (e *entry) published() Published {
	p := Published{
		Key: e.key(), Kind: e.tracker.kind.kind(),
		ContainerID: e.tracker.ContainerID(), Verdict: e.tracker.Verdict(),
	}
	if e.last != nil {
		p.Output, p.Err, p.At = e.last.output, e.last.err, time.Unix(0, e.last.at)
	}
	return p
}
