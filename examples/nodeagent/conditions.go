package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/syncloop"
)

// writeConditions prints the conditions of the node.
func writeConditions(w io.Writer, node *v1.Node, now time.Time) error {
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "NODE CONDITION\tSTATUS\tSINCE\tREASON\tMESSAGE")
	for _, c := range node.Status.Conditions {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", c.Type, c.Status,
			duration.HumanDuration(max(now.Sub(c.LastTransitionTime.Time), 0)), c.Reason, c.Message)
	}
	return tw.Flush()
}

// writePressure prints the conditions of a node that is short of something, and
// nothing of one that is not.
func writePressure(w io.Writer, node *v1.Node, now time.Time) error {
	for _, c := range node.Status.Conditions {
		if c.Status == v1.ConditionTrue {
			fmt.Fprintln(w)
			return writeConditions(w, node, now)
		}
	}
	return nil
}

// roundLimit is how long a round may take beyond the grace of the pods that it
// evicts: one that takes longer is stuck.
const roundLimit = time.Minute

// part is what status and dump tell of eviction.
func (e *evictor) part() syncloop.Part {
	return syncloop.Part{
		Name: "eviction",
		Health: func() syncloop.HealthCheck {
			if e.manager == nil {
				return syncloop.HealthCheck{Name: "eviction", OK: true, Detail: "not supported here"}
			}
			return evictionHealth(e.manager.Health(), time.Now())
		},
		Dump: func() any {
			if e.manager == nil {
				return nil
			}
			return e.manager.Health()
		},
	}
}

// evictionHealth tells how eviction does.
func evictionHealth(h eviction.Health, now time.Time) syncloop.HealthCheck {
	c := syncloop.HealthCheck{Name: "eviction", OK: true, Since: h.LastRound, Detail: "no round yet"}
	if !h.LastRound.IsZero() {
		c.Detail = left(h.Observations)
	}
	if h.Stuck != nil {
		c.OK, c.Detail = false, h.Stuck.String()
	}
	limit, victims := roundLimit, ""
	for _, v := range h.Evicting {
		limit = max(limit, roundLimit+v.Grace())
		victims += fmt.Sprintf(", evicts %s/%s within %v", v.Pod.Namespace, v.Pod.Name, v.Grace())
	}
	if running := now.Sub(h.RoundSince); !h.RoundSince.IsZero() && (running > limit || victims != "") {
		c.OK, c.Detail = c.OK && running <= limit, "a round has not ended since "+duration.HumanDuration(running)+victims
	}
	c.LastError = firstProblem(h)
	c.OK = c.OK && c.LastError == ""
	return c
}

// left says how much of everything is left.
func left(observations []eviction.Observation) string {
	parts := make([]string, len(observations))
	for i, o := range observations {
		switch o.Signal {
		case eviction.PIDAvailable, eviction.NodeFsInodesFree:
			parts[i] = fmt.Sprintf("%s %d of %d", o.Signal, o.Available, o.Capacity)
		default:
			parts[i] = fmt.Sprintf("%s %.1fGi of %.1fGi", o.Signal, float64(o.Available)/(1<<30), float64(o.Capacity)/(1<<30))
		}
	}
	return strings.Join(parts, ", ")
}

// firstProblem is the worst that a manager met with in its last round.
func firstProblem(h eviction.Health) string {
	switch {
	case h.Err != nil && h.Failures > 1:
		return fmt.Sprintf("%v, %d rounds in a row", h.Err, h.Failures)
	case h.Err != nil:
		return h.Err.Error()
	case h.KillErr != nil:
		return h.KillErr.Error()
	case len(h.Problems) > 0:
		return fmt.Sprintf("%s: %s", h.Problems[0].Signal, h.Problems[0].Text)
	}
	return ""
}
