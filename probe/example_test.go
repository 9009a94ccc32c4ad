package probe_test

import (
	"context"
	"fmt"

	"github.com/kubeparts/kubeparts/probe"
)

// A prober of one's own is a function.
func ExampleFunc() {
	var p probe.Prober = probe.Func(func(_ context.Context, t probe.Target) (probe.Response, error) {
		if t.IP == "" {
			return probe.Response{}, fmt.Errorf("container %s: its pod has no address yet", t.Container)
		}
		return probe.Response{Result: probe.Success, Output: "pong from " + t.IP}, nil
	})
	fmt.Println(p.Probe(context.Background(), probe.Target{Container: "web", IP: "10.0.0.7"}))
	fmt.Println(p.Probe(context.Background(), probe.Target{Container: "web"}))
	// Output:
	// {success pong from 10.0.0.7} <nil>
	// { } container web: its pod has no address yet
}
