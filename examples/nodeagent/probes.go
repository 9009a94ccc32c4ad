package main

import (
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// newProbes probes the containers of a runtime. There is no prober for gRPC: that
// one is a module of its own, so that who does not need gRPC does not link it.
func newProbes(execer runtime.Execer, events *eventLog) (*probe.Manager, error) {
	return probe.NewManager(probe.Config{
		Prober: probe.Probers{
			HTTP: &probe.HTTP{Version: "1.36"},
			Exec: &probe.Exec{Execer: execer},
		},
		Events:      events,
		MaxInFlight: mostProbes(),
	})
}

// mostProbes is how many probes may be made at a time so that they take half of the
// files that the agent may open, at most: a command takes three, and of those that
// hang sixteen times as many may last. Zero is the manager's default.
func mostProbes() int {
	const each = 3 * (1 + 16)
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur/2/each >= 256 {
		return 0
	}
	return max(8, int(files.Cur/2/each))
}

// failing is what the last attempt of a probe found wrong, of pods that are not
// ready or have a probe that fails.
func failing(loop *syncloop.SyncLoop, probes *probe.Manager) map[types.UID]string {
	found := map[types.UID]string{}
	for _, v := range loop.Pods() {
		if v.Status == nil || v.Status.Phase != v1.PodRunning {
			continue
		}
		for _, x := range probes.Explain(v.UID) {
			if text := wrong(x); text != "" {
				found[v.UID] = text
				break
			}
		}
	}
	return found
}

// wrong says what the last attempt of a probe found wrong; empty if nothing is.
func wrong(x probe.Explanation) string {
	what := ""
	switch {
	case x.Err != nil:
		what = x.Err.Error()
	case x.Result == probe.Failure:
		what = strings.TrimSpace(x.Output)
	default:
		return ""
	}
	return strings.TrimSuffix(x.Probe+" of "+x.Container+": "+probe.Printable(what), ": ")
}
