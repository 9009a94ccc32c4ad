package syncloop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/syncloop"
)

func TestStepCallsTheHandlerOfEachChannel(t *testing.T) {
	var got []string
	pods := func(what string) func(string, []*v1.Pod) {
		return func(source string, pods []*v1.Pod) { got = append(got, what+" "+source) }
	}
	h := syncloop.HandlerFuncs{
		Additions: pods("add"), Updates: pods("update"), Removes: pods("remove"), Reconcile: pods("reconcile"),
		Unexpected:   func(u podmanager.Update) { got = append(got, "unexpected "+string(u.Op)) },
		RuntimeEvent: func(e syncloop.RuntimeEvent) { got = append(got, "event "+string(e.UID)) },
		Syncs:        func() { got = append(got, "syncs") },
		Cleanups:     func() { got = append(got, "cleanups") },
		Probes:       func() { got = append(got, "probes") },
	}
	config := make(chan podmanager.Update, 1)
	events := make(chan syncloop.RuntimeEvent, 1)
	due, clean := make(chan time.Time, 1), make(chan time.Time, 1)
	probes := make(chan struct{}, 1)
	ch := syncloop.Channels{Config: config, RuntimeEvents: events, SyncDue: due, Housekeeping: clean, Probes: probes}
	step := func(h syncloop.SyncHandler) {
		require.True(t, syncloop.Step(t.Context(), ch, h, nil))
	}
	for _, op := range []podmanager.Op{podmanager.OpAdd, podmanager.OpRestore, podmanager.OpUpdate, podmanager.OpDelete,
		podmanager.OpRemove, podmanager.OpReconcile, podmanager.OpSet, "?"} {
		config <- podmanager.Update{Source: "s", Op: op}
		step(h)
		config <- podmanager.Update{Source: "s", Op: op}
		step(syncloop.HandlerFuncs{})
	}
	for range 2 {
		events <- syncloop.RuntimeEvent{UID: "u"}
		step(h)
		due <- time.Time{}
		step(h)
		clean <- time.Time{}
		step(h)
		probes <- struct{}{}
		step(h)
		h = syncloop.HandlerFuncs{}
	}
	require.Equal(t, []string{"add s", "add s", "update s", "update s", "remove s", "reconcile s", "unexpected SET", "unexpected ?",
		"event u", "syncs", "cleanups", "probes"}, got)
}

func TestStepEnds(t *testing.T) {
	never := syncloop.HandlerFuncs{}
	config := make(chan podmanager.Update)
	close(config)
	require.False(t, syncloop.Step(t.Context(), syncloop.Channels{Config: config}, never, nil))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	due := make(chan time.Time, 1)
	due <- time.Time{}
	require.False(t, syncloop.Step(ctx, syncloop.Channels{SyncDue: due}, never, nil))
	require.Len(t, due, 1, "nothing is taken any more")
}

func TestMonitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m syncloop.Monitor
		at, busy := m.Last()
		require.True(t, at.IsZero())
		require.False(t, busy)
		due := make(chan time.Time, 1)
		due <- time.Time{}
		began := time.Now()
		syncloop.Step(t.Context(), syncloop.Channels{SyncDue: due}, syncloop.HandlerFuncs{Syncs: func() {
			at, busy := m.Last()
			require.Equal(t, began, at)
			require.True(t, busy)
			time.Sleep(time.Second)
		}}, &m)
		at, busy = m.Last()
		require.Equal(t, began.Add(time.Second), at)
		require.False(t, busy)
	})
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	_, err := syncloop.New(syncloop.Config{Readmit: "perhaps"})
	require.EqualError(t, err, "syncloop: one of Config.PodConfig and Config.Updates is needed\n"+
		"syncloop: Config.Runtime is nil\n"+
		"syncloop: Config.Readmit perhaps is none of keep, recheck, fail")

	for want, parts := range map[string][]syncloop.Part{
		"Config.Parts[0] has no Name":               {{}},
		`Config.Parts[2] is another one called "a"`: {{Name: "a"}, {Name: "b"}, {Name: "a"}},
	} {
		_, err := syncloop.New(syncloop.Config{Parts: parts})
		require.ErrorContains(t, err, want)
	}
}

func TestNilFuncsAreErrors(t *testing.T) {
	require.ErrorContains(t, syncloop.StatusFunc(nil).SetStatus(t.Context(), syncloop.StatusUpdate{}), "nil")
	_, err := probe.Func(nil).Probe(t.Context(), probe.Target{})
	require.ErrorContains(t, err, "nil")
	require.ErrorContains(t, podmanager.SourceFunc(nil).Run(t.Context(), nil), "nil")
}
