package syncloop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
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
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// check finds a health check by name.
func (w *world) check(name string) syncloop.HealthCheck {
	w.t.Helper()
	for _, c := range w.Health() {
		if c.Name == name {
			return c
		}
	}
	require.FailNow(w.t, "no such check", "%s in %+v", name, w.Health())
	return syncloop.HealthCheck{}
}

func TestHealthyLoopIsHealthy(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("a"))
		sleep(time.Hour)
		for _, c := range w.Health() {
			require.True(t, c.OK, "%+v", c)
			require.Empty(t, c.LastError)
			require.NotEmpty(t, c.Detail)
		}
	}, func(c *syncloop.Config) { c.Store = &synclooptest.Store{} })
}

// A check that hangs holds up the loop, and is the host's to mend.
func TestHealthNamesThePodThatAdmissionHangsAt(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("a"))
		sleep(10 * time.Minute)
		c := w.check("loop")
		require.False(t, c.OK)
		require.Equal(t, "waits for what admission says of a_default", c.Detail)
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{Name: "Hangs", Handler: admission.AdmitFunc(
			func(ctx context.Context, _ admission.Request) (admission.Verdict, error) {
				<-ctx.Done()
				return admission.Verdict{}, ctx.Err()
			})}}}
	})
}

// kubernetes/kubernetes#9895: the node was healthy while every SyncPod hung.
func TestHealthNamesTheOldestStuckWorker_9895(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("stuck"), pod("fine"))
		sleep(time.Minute)
		require.True(t, w.check("workers").OK, "it may just be slow")
		sleep(10 * time.Minute)
		c := w.check("workers")
		require.False(t, c.OK)
		require.Contains(t, c.Detail, "1 busy; the oldest starts or checks stuck_default(uid-stuck) since 11m")
		require.True(t, w.check("loop").OK, "the loop itself goes on")
		require.Equal(t, v1.PodRunning, w.phase("uid-fine"))
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				if req.Pod.Name == "stuck" {
					<-ctx.Done()
					return runtime.SyncResult{}, ctx.Err()
				}
				return rt.SyncPod(ctx, req)
			},
		})
	})
}

func TestHealthLetsAStopTakeTheTimeItWasGranted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("slow", grace(3600), running(runtimetest.Script{IgnoresTerm: true}))
		w.add(p)
		w.remove(p)
		sleep(time.Hour - time.Minute)
		require.True(t, w.check("workers").OK)
		require.Contains(t, w.check("workers").Detail, "stops slow_default")
	})
}

// kubernetes/kubernetes#77177: a list that fails must show.
func TestHealthTellsThatTheRuntimeCannotBeListed_77177(t *testing.T) {
	var broken atomic.Bool
	inBubble(t, func(t *testing.T, w *world) {
		require.True(t, w.check("relist").OK)
		broken.Store(true)
		sleep(time.Hour)
		c := w.check("relist")
		require.False(t, c.OK)
		require.Contains(t, c.LastError, "runtime is down")
		broken.Store(false)
		sleep(10 * time.Second)
		require.True(t, w.check("relist").OK)
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(runtimetest.Bare(c.Runtime), runtimetest.Funcs{
			ListPods: func(ctx context.Context, rt runtime.Runtime) ([]runtime.ListedPod, error) {
				if broken.Load() {
					return nil, errors.New("runtime is down")
				}
				return rt.ListPods(ctx)
			},
		})
	})
}

// withSources runs a loop whose pods come from such sources.
func withSources(t *testing.T, sources map[string]podmanager.PodSource) (w *world, stop func()) {
	t.Helper()
	pods, err := podmanager.NewPodConfig(podmanager.Config{Sources: sources})
	require.NoError(t, err)
	loop, err := syncloop.New(syncloop.Config{PodConfig: pods, Runtime: runtimetest.NewFake(runtimetest.FakeConfig{})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- loop.Run(ctx) }()
	return &world{SyncLoop: loop, t: t}, func() {
		cancel()
		require.NoError(t, <-done)
	}
}

func TestHealthTellsOfEachSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan podmanager.Report)
		w, stop := withSources(t, map[string]podmanager.PodSource{
			"good": podmanager.SourceFunc(func(ctx context.Context, deliver func(podmanager.Report)) error {
				for {
					select {
					case r := <-reports:
						deliver(r)
					case <-ctx.Done():
						return nil
					}
				}
			}),
			"silent": podmanager.SourceFunc(func(ctx context.Context, _ func(podmanager.Report)) error {
				<-ctx.Done()
				return nil
			}),
		})
		defer stop()

		reports <- podmanager.Report{Op: podmanager.OpSet, Pods: []*v1.Pod{pod("a")}}
		synctest.Wait()
		require.Equal(t, "wants 1 pod", w.check("source good").Detail)
		require.Contains(t, w.check("source silent").Detail, "has not said")

		reports <- podmanager.Report{Err: errors.New("no such folder")}
		synctest.Wait()
		c := w.check("source good")
		require.False(t, c.OK)
		require.Equal(t, "no such folder", c.LastError)
		require.Equal(t, "1 pod is kept from it; its last word is 0s old", c.Detail)
		sleep(time.Minute)
		require.Equal(t, "1 pod is kept from it; its last word is 1m0s old", w.check("source good").Detail)
		e, _ := w.Explain("uid-a")
		require.Equal(t, "Its source is not well since 1m0s; what it said last counts: no such folder", e.Lines[1])
		reports <- podmanager.Report{Err: errors.Join(errors.New("b.yaml: no"), errors.New("c.yaml: no"))}
		synctest.Wait()
		e, _ = w.Explain("uid-a")
		require.Contains(t, e.Lines[1], "b.yaml: no; c.yaml: no")

		reports <- podmanager.Report{}
		synctest.Wait()
		e, _ = w.Explain("uid-a")
		require.Equal(t, "It was admitted.", e.Lines[1])
	})
}

// hung is a source that says one list and then, as on a disk that hangs, nothing.
type hung struct{ pods []*v1.Pod }

func (h hung) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	if h.pods != nil {
		deliver(podmanager.Report{Op: podmanager.OpSet, Pods: h.pods})
	}
	<-ctx.Done()
	return nil
}

func (hung) Every() time.Duration { return 30 * time.Second }

func TestHealthTellsOfASourceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := withSources(t, map[string]podmanager.PodSource{
			"file": hung{[]*v1.Pod{pod("a")}}, "late": hung{},
		})
		defer stop()

		sleep(90 * time.Second)
		require.True(t, w.check("source file").OK)
		require.True(t, w.check("source late").OK)
		sleep(30 * time.Second)
		require.False(t, w.check("source file").OK)
		require.Equal(t, "1 pod is kept from it; it says nothing since 2m0s", w.check("source file").Detail)
		require.Equal(t, "has not said what it wants yet; it says nothing since 2m0s", w.check("source late").Detail)
		e, _ := w.Explain("uid-a")
		require.Equal(t, "Its source says nothing since 2m0s; what it said last counts.", e.Lines[1])
	})
}

func TestHealthAndDumpTellOfTheHostsParts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		require.Equal(t, "it is late", w.check("tea").Detail)
		var b bytes.Buffer
		require.NoError(t, w.Dump(&b))
		var dump struct {
			Health []syncloop.HealthCheck
			Parts  map[string]map[string]string
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &dump), b.String())
		require.Equal(t, "tea", dump.Health[len(dump.Health)-1].Name)
		require.Equal(t, map[string]string{"pot": "empty"}, dump.Parts["tea"])
		require.Contains(t, dump.Parts["broken"]["error"], "unsupported type")
		require.NotContains(t, dump.Parts, "silent")
	}, func(c *syncloop.Config) {
		c.Parts = []syncloop.Part{
			{Name: "silent"},
			{Name: "broken", Dump: func() any { return make(chan int) }},
			{
				Name:   "tea",
				Health: func() syncloop.HealthCheck { return syncloop.HealthCheck{Detail: "it is late"} },
				Dump:   func() any { return map[string]string{"pot": "empty"} },
			},
		}
	})
}

// slowHook is a Runtime that waits for a hook of every pod.
type slowHook struct {
	runtime.Runtime
	since time.Time
}

func (s slowHook) Doing(types.UID) []runtime.Doing {
	return []runtime.Doing{{What: "the preStop hook of c", Since: s.since}}
}

func TestWhatTheRuntimeWaitsForIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("slow", grace(100), running(runtimetest.Script{IgnoresTerm: true}))
		w.add(p)
		sleep(10 * time.Second)
		w.remove(p)
		sleep(5 * time.Second)
		require.Contains(t, w.check("workers").Detail, "the oldest stops slow_default(uid-slow) since 5s, waits for the preStop hook of c")
		e, ok := w.Explain(p.UID)
		require.True(t, ok)
		require.Contains(t, e.Lines, "It waits for the preStop hook of c since 15s.")
		var b bytes.Buffer
		require.NoError(t, w.Dump(&b))
		require.Contains(t, b.String(), `"doing":[{"what":"the preStop hook of c"`)
		sleep(100 * time.Second)
	}, func(c *syncloop.Config) { c.Runtime = slowHook{c.Runtime, time.Now()} })
}

func TestHealthTellsOfSinkAndStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		down := errors.New("disk full")
		w.sink.Before = func(context.Context, syncloop.StatusUpdate) error { return down }
		w.store.BeforeCommit = func(context.Context, syncloop.Batch) error { return down }
		w.config.Store = w.store
		w.start()
		w.add(pod("a"))
		sleep(10 * time.Minute)
		require.False(t, w.check("sink").OK)
		require.Equal(t, "1 status waits, 1 was refused", w.check("sink").Detail)
		require.Equal(t, "disk full", w.check("sink").LastError)
		require.False(t, w.check("store").OK)
		require.Contains(t, w.check("store").LastError, "disk full")
		w.stop()
	})
}

func TestExplain(t *testing.T) {
	refuse := admission.AdmitFunc(func(_ context.Context, req admission.Request) (admission.Verdict, error) {
		switch req.Pod.Name {
		case "never":
			return admission.Rejected("OutOfcpu", "no cpu is left. "), nil
		case "later":
			return admission.RetryLater("Curfew", "come back in the morning", time.Hour), nil
		}
		return admission.Admitted(), nil
	})
	inBubble(t, func(t *testing.T, w *world) {
		crash := pod("crash", static, running(runtimetest.Script{Exits: true, ExitCode: 3, Message: "I give up\x1b[2J\n"}))
		stubborn := pod("stubborn", grace(100), running(runtimetest.Script{IgnoresTerm: true}))
		w.add(crash, stubborn, pod("never"), pod("later"))
		sleep(5 * time.Second)
		w.remove(stubborn)
		sleep(5 * time.Second)
		for name, want := range map[string][]string{
			"crash":    {`is a static pod from the source "test"`, "It was admitted.", "It should run.", "waits: CrashLoopBackOff", `exit code 3, Error, I give up\x1b[2J.`, "Condition Ready is False"},
			"never":    {"It was rejected, for good: OutOfcpu: no cpu is left.\n", "It is Failed: OutOfcpu"},
			"later":    {"It waits since 10s: Curfew: come back in the morning", "No worker is busy with it; it is looked at again in 59m50s"},
			"stubborn": {"It is being stopped since 5s; what still runs in 1m35s is killed.", "A worker stops it since 5s."},
		} {
			e, ok := w.Explain(types.UID("uid-" + name))
			require.True(t, ok)
			text := strings.Join(e.Lines, "\n")
			for _, part := range want {
				require.Contains(t, text, part, name)
			}
		}
		_, ok := w.Explain("nobody")
		require.False(t, ok)
		sleep(100 * time.Second)
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{Name: "mine", Handler: refuse}}}
	})
}

func TestExplainTellsWhatWaitsAndWhatFailed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("stuck")
		w.add(p, pod("fails"))
		sleep(time.Second)
		w.update(pod("stuck", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }))
		sleep(30 * time.Second)
		e, _ := w.Explain(p.UID)
		require.Contains(t, e.Lines, "A worker starts or checks it since 31s; what was heard meanwhile waits for its end.")
		e, _ = w.Explain("uid-fails")
		require.Regexp(t, `No worker is busy with it; work failed \d times in a row; it is looked at again in `, strings.Join(e.Lines, "\n"))
		var b bytes.Buffer
		require.NoError(t, w.Dump(&b))
		var dump struct {
			Pods []struct {
				Name     string
				Pending  bool
				Failures int
			}
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &dump))
		require.GreaterOrEqual(t, dump.Pods[0].Failures, 2)
		require.False(t, dump.Pods[0].Pending)
		require.True(t, dump.Pods[1].Pending)
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				if req.Pod.Name == "stuck" {
					<-ctx.Done()
					return runtime.SyncResult{}, ctx.Err()
				}
				return runtime.SyncResult{}, errors.New("no space left")
			},
		})
	})
}

func TestDumpHoldsEverythingButSecrets(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		secret := pod("secret")
		secret.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PASSWORD", Value: "hush"}}
		w.add(secret, pod("b"))
		dumped := make(chan []byte)
		go func() {
			var b bytes.Buffer
			if err := w.Dump(&b); err != nil {
				b.WriteString(err.Error())
			}
			dumped <- b.Bytes()
		}()
		data := <-dumped
		require.NotContains(t, string(data), "hush")
		var dump struct {
			Health []syncloop.HealthCheck
			Ledger struct {
				Pods  int
				Error string
			}
			Pods []struct {
				Name, Source, Stage string
				Admitted            bool
				Status              v1.PodStatus
			}
		}
		require.NoError(t, json.Unmarshal(data, &dump), string(data))
		require.NotEmpty(t, dump.Health)
		require.Equal(t, 2, dump.Ledger.Pods)
		require.Len(t, dump.Pods, 2)
		require.Equal(t, "secret", dump.Pods[1].Name)
		require.Equal(t, "sync", dump.Pods[1].Stage)
		require.True(t, dump.Pods[1].Admitted)
		require.Equal(t, v1.PodRunning, dump.Pods[1].Status.Phase)
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{Ledger: admission.NewLedger()}
	})
}
