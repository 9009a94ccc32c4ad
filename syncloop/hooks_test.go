package syncloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

func TestHooksTellTheWayOfAPod(t *testing.T) {
	var (
		mu  sync.Mutex
		log []string
	)
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, fmt.Sprintf(format, args...))
	}
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", static, running(runtimetest.Script{StopAfter: time.Second}))
		w.add(p)
		w.remove(p)
		w.add(p)
		sleep(2 * time.Second)
		w.remove(p)
		sleep(2 * time.Second)
		life := []string{"stage sync", "first work", "work sync", "runs", "work sync", "stage terminating", "work terminate", "stage terminated", "work cleanup", "stage finished", "work remove"}
		want := append([]string{"admit"}, life...)
		want = append(append(want, "restarted", "admit"), life...)
		// A hint that comes late has the pod looked at once more.
		require.Equal(t, append(want, "forgotten"), slices.Compact(log))
	}, func(c *syncloop.Config) {
		c.Hooks = syncloop.Hooks{
			PodAdmitted:  func(_ *v1.Pod, v admission.Verdict, _ time.Duration) { say("%s", v.Outcome) },
			PodStage:     func(_ runtime.PodRef, s lifecycle.Stage) { say("stage %s", s) },
			PodWork:      func(_ runtime.PodRef, w lifecycle.Work, _ time.Duration, _ error) { say("work %s", w) },
			PodFirstWork: func(runtime.PodRef, time.Duration) { say("first work") },
			PodStarted:   func(runtime.PodRef, time.Duration) { say("runs") },
			PodRestarted: func(runtime.PodRef) { say("restarted") },
			PodForgotten: func(runtime.PodRef) { say("forgotten") },
		}
	})
}

func TestHooksOfTheWorldAround(t *testing.T) {
	var mu sync.Mutex
	count := map[string]int{}
	add := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		count[what]++
	}
	inBubble(t, func(t *testing.T, w *world) {
		w.fake.Invent(runtime.PodRef{UID: "stray", Namespace: "default", Name: "stray"}, "c")
		w.add(pod("web"))
		sleep(time.Minute)
		w.send(podmanager.OpSet)
		mu.Lock()
		defer mu.Unlock()
		for _, what := range []string{"loaded", "committed", "relisted", "housekeeping", "sent", "stranger", "unexpected"} {
			require.NotZero(t, count[what], what)
		}
	}, func(c *syncloop.Config) {
		c.Store = &synclooptest.Store{}
		c.Hooks = syncloop.Hooks{
			StoreLoaded:      func(int, time.Duration, error) { add("loaded") },
			StoreCommitted:   func(int, time.Duration, error) { add("committed") },
			Relisted:         func(int, int, time.Duration, error) { add("relisted") },
			Housekeeping:     func(time.Duration) { add("housekeeping") },
			StatusSent:       func(runtime.PodRef, uint64, time.Duration, error) { add("sent") },
			StrangerFound:    func(runtime.PodRef) { add("stranger") },
			UnexpectedUpdate: func(error) { add("unexpected") },
		}
	})
}

// What fails every ten seconds for days is not an event each time.
func TestEventsComeAtAFallingRate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("web"))
		sleep(time.Hour)
		n := len(w.events.With("FailedSync"))
		require.GreaterOrEqual(t, n, 4)
		require.LessOrEqual(t, n, 7)
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{Before: func(_ context.Context, c runtimetest.Call) error {
			if c.Method == "PodStatus" && c.UID == types.UID("uid-web") {
				return errors.New("no answer")
			}
			return nil
		}}
	}))
}

// A host asks the loop from where the loop calls it, and gets an answer.
func TestHooksAndChecksMayAskTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var asked [5]atomic.Int64
		ask := func(who int) {
			w.Health()
			w.NodeChanged()
			for _, v := range w.Pods() {
				w.Explain(v.UID)
			}
			asked[who].Add(1)
		}
		w.config.Store = w.store
		w.config.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{
			Name: "asks", Handler: admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
				ask(0)
				return admission.Admitted(), nil
			}),
		}}}
		w.config.Hooks = syncloop.Hooks{
			PodStage:       func(runtime.PodRef, lifecycle.Stage) { ask(1) },
			Relisted:       func(int, int, time.Duration, error) { ask(2) },
			StatusSent:     func(runtime.PodRef, uint64, time.Duration, error) { ask(3) },
			StoreCommitted: func(int, time.Duration, error) { ask(4) },
		}
		w.start()
		defer w.stop()
		p := pod("web")
		w.add(p)
		sleep(time.Minute)
		require.Equal(t, v1.PodRunning, w.sink.Status(p.UID).Phase)
		for who := range asked {
			require.NotZero(t, asked[who].Load(), who)
		}
	})
}
