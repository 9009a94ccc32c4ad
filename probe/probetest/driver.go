package probetest

import (
	"fmt"
	"time"

	"github.com/kubeparts/kubeparts/probe"
)

// Driver takes a [probe.Tracker] through time, without a clock and at once, and
// writes down what comes of it. A test of rules reads like their table.
type Driver struct {
	probe.Tracker
	// Now is the time; it begins at second 0 of 2030 and moves with Pass.
	Now time.Time
	// Transcript has a line for each attempt, and for each look that had a
	// verdict published: the second, what happened, what was published, and
	// the event.
	//
	//	 3s failure -> failure (changed), Unhealthy: Liveness probe failed: 500
	Transcript []string

	began time.Time
}

// NewDriver returns the driver of a probe whose schedule is not spread.
func NewDriver(kind probe.Kind, settings probe.Settings) *Driver {
	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	return &Driver{Tracker: probe.NewTracker(kind, settings, 0), Now: began, began: began}
}

// Running is the state of an instance that started just now.
func (d *Driver) Running(id string) probe.State {
	return probe.State{ContainerID: id, Running: true, StartedAt: d.Now, Started: true}
}

// See tells the tracker what is known of the container now.
func (d *Driver) See(s probe.State) {
	if step := d.Look(d.Now, s); step.Published {
		d.write("look", step)
	}
}

// Pass lets time go by, up to and with the end of it. Each attempt that falls due
// takes one of the results, which begin anew when they are used up; with none of
// them all succeed. Unknown stands for an error.
func (d *Driver) Pass(by time.Duration, results ...probe.Result) {
	end := d.Now.Add(by)
	for i := 0; ; i++ {
		due := d.Due()
		if due.IsZero() || due.After(end) {
			break
		}
		if due.After(d.Now) {
			d.Now = due
		}
		result := probe.Success
		if len(results) > 0 {
			result = results[i%len(results)]
		}
		attempt := probe.Attempt{Response: probe.Response{Result: result, Output: string(result)}}
		if result == probe.Unknown {
			attempt = probe.Attempt{Err: fmt.Errorf("can't ask")}
		}
		d.write(string(result), d.Record(d.Now, attempt))
	}
	d.Now = end
}

func (d *Driver) write(what string, step probe.Step) {
	line := fmt.Sprintf("%3.0fs %s", d.Now.Sub(d.began).Seconds(), what)
	if step.Published {
		line += " -> " + string(d.Verdict())
	}
	if step.Changed {
		line += " (changed)"
	}
	if step.Event != nil {
		line += ", " + step.Event.Reason + ": " + step.Event.Message
	}
	d.Transcript = append(d.Transcript, line)
}
