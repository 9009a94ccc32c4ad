package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubeparts/kubeparts/syncloop"
)

// writeHealth prints how each part of the agent does.
func writeHealth(w io.Writer, checks []syncloop.HealthCheck, now time.Time) error {
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "CHECK\tSTATE\tSINCE\tDETAIL")
	for _, c := range checks {
		state, since := "ok", "-"
		if !c.OK {
			state = "FAILING"
		}
		if !c.Since.IsZero() {
			since = duration.HumanDuration(max(now.Sub(c.Since), 0))
		}
		detail := c.Detail
		if c.LastError != "" {
			detail += "; last error: " + c.LastError
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", c.Name, state, since, oneLine(detail))
	}
	return tw.Flush()
}
