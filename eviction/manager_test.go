package eviction_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
)

func TestManagerEvictsOneARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"), namedPod("b"), namedPod("c"))
		n.SetPodMemory("uid-b", 500)
		n.SetPodMemory("uid-c", 100)
		n.At(15*time.Second, func(s *evictiontest.Stats) { s.Set(eviction.MemoryAvailable, 50, 1000) })
		n.kill = func(v eviction.Victim) error {
			<-time.After(2 * time.Second)
			if v.Pod.Name == "c" {
				n.Set(eviction.MemoryAvailable, 900, 1000)
			}
			return nil
		}
		m := run(t, n.config("100"), 7*time.Minute)
		require.Equal(t, []string{
			"20s conditions [MemoryPressure]",
			"20s event node Warning EvictionThresholdMet",
			"20s event b Warning Evicted",
			"20s kill b",
			"22s event c Warning Evicted",
			"22s kill c",
			"5m24s conditions []",
		}, n.said(), "back to back under pressure; the condition stays for the transition period")
		require.Empty(t, m.Health().Conditions)
		require.Zero(t, m.Health().RoundSince)
	})
}

func TestManagerWaitsForCleanUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		next  string
	}{
		{"given back after 5 s", 5 * time.Second, "5s kill b"},
		{"never given back", time.Hour, "30s kill b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(namedPod("a"), namedPod("b"))
				n.Set(eviction.MemoryAvailable, 50, 1000)
				cfg := n.config("100")
				cfg.CleanedUp = func(types.UID) bool { return time.Since(n.began) >= c.after }
				run(t, cfg, 35*time.Second)
				require.Contains(t, n.said(), "0s kill a")
				require.Contains(t, n.said(), c.next)
			})
		})
	}
}

func TestFailedEvictionIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"))
		n.Set(eviction.MemoryAvailable, 50, 1000)
		failures := 2
		n.kill = func(eviction.Victim) error {
			if failures--; failures >= 0 {
				return errors.New("the runtime is away")
			}
			return nil
		}
		cfg := n.config("100")
		var errs []error
		cfg.Hooks.Evicted = func(_ eviction.Victim, s eviction.Signal, err error) { errs = append(errs, err) }
		m, err := eviction.NewManager(cfg)
		require.NoError(t, err)
		_, err = m.Round(t.Context())
		require.EqualError(t, err, "evict pod default/a: the runtime is away")
		require.EqualError(t, m.Health().KillErr, "evict pod default/a: the runtime is away")
		<-time.After(10 * time.Second)
		_, err = m.Round(t.Context())
		require.Error(t, err)
		<-time.After(10 * time.Second)
		done, err := m.Round(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a", done.Victim.Pod.Name)
		require.NoError(t, m.Health().KillErr)
		require.Len(t, errs, 3)
		require.Equal(t, []string{"0s kill a", "10s kill a", "20s kill a"}, slices.DeleteFunc(n.said(), func(s string) bool {
			return !slices.Contains([]string{"0s kill a", "10s kill a", "20s kill a"}, s)
		}))
	})
}

func TestNobodyMayGoIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(staticPod("a"))
		n.Set(eviction.MemoryAvailable, 50, 1000)
		m := run(t, n.config("100"), 25*time.Second)
		require.Equal(t, []string{
			"0s conditions [MemoryPressure]",
			"0s event node Warning EvictionThresholdMet",
			"0s event node Warning NoPodToEvict",
			"10s event node Warning EvictionThresholdMet",
		}, n.said())
		require.Equal(t, &eviction.Stuck{Resource: v1.ResourceMemory, Pods: 1}, m.Health().Stuck)
	})
}

func TestReclaimComesBeforePods(t *testing.T) {
	for _, c := range []struct {
		name    string
		frees   bool
		err     error
		evicted []string
	}{
		{"enough", true, nil, nil},
		{"not enough", false, nil, []string{"0s kill a"}},
		{"fails", false, errors.New("busy"), []string{"0s kill a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(namedPod("a"))
				n.Set(eviction.NodeFsAvailable, 1, 1000)
				cfg := n.config("100")
				cfg.Policy.Thresholds = mustThresholds(t, eviction.Settings{Hard: map[string]string{"nodefs.available": "10%"}})
				cfg.Reclaim = map[eviction.Reclaim]func(context.Context) error{
					eviction.ReclaimContainers: func(context.Context) error { n.say("reclaim containers"); return c.err },
					eviction.ReclaimImages: func(context.Context) error {
						n.say("reclaim images")
						if c.frees {
							n.Set(eviction.NodeFsAvailable, 500, 1000)
						}
						return nil
					},
				}
				m, err := eviction.NewManager(cfg)
				require.NoError(t, err)
				done, err := m.Round(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.frees, done.Relieved)
				require.Equal(t, []string{"0s reclaim containers", "0s reclaim images"},
					slices.DeleteFunc(n.said(), func(s string) bool { return s[:5] != "0s re" }))
				require.Equal(t, c.evicted, append([]string(nil), slices.DeleteFunc(n.said(), func(s string) bool { return s[:5] != "0s ki" })...))
			})
		})
	}
}

func TestCalmRoundReadsOnlyPodsWithLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := namedPod("limited")
		limited.Spec.Volumes = []v1.Volume{emptyDir("cache", "1Mi")}
		n := newNode(namedPod("a"), namedPod("b"), limited)
		m, err := eviction.NewManager(n.config("100"))
		require.NoError(t, err)
		_, err = m.Round(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n.Reads())
		n.Set(eviction.MemoryAvailable, 50, 1000)
		<-time.After(time.Second)
		_, err = m.Round(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, n.Reads())
	})
}

func TestStatsThatFailOrHangEvictNobody(t *testing.T) {
	for name, breakIt := range map[string]func(*evictiontest.Stats){
		"fail": func(s *evictiontest.Stats) { s.Fail(errors.New("no /proc")) },
		"hang": func(s *evictiontest.Stats) { s.Hang(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(namedPod("a"))
				n.At(time.Second, breakIt)
				n.At(2*time.Second, func(s *evictiontest.Stats) { s.Set(eviction.MemoryAvailable, 1, 1000) })
				m := run(t, n.config("100"), 3*time.Hour)
				require.Empty(t, n.said())
				require.Error(t, m.Health().Err)
				require.Greater(t, m.Health().Failures, 100)
				require.Equal(t, 3*time.Hour, time.Since(m.Health().LastRound))

				n.Fail(nil)
				n.Hang(false)
				_, err := m.Round(t.Context())
				require.NoError(t, err)
				require.Contains(t, n.said(), "3h0m0s kill a")
				require.NoError(t, m.Health().Err)
			})
		})
	}
}

func TestPodWhoseStatsCannotBeReadStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"))
		n.Set(eviction.MemoryAvailable, 50, 1000)
		n.FailPods(errors.New("cgroup vanished"))
		m, err := eviction.NewManager(n.config("100"))
		require.NoError(t, err)
		done, err := m.Round(t.Context())
		require.NoError(t, err)
		require.Nil(t, done.Victim)
		require.Equal(t, "its stats can't be read: cgroup vanished", done.Ranking()[0].Protected)
	})
}

func TestStaleStatsAreActedUponOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"), namedPod("b"))
		n.Set(eviction.MemoryAvailable, 50, 1000)
		n.Freeze(time.Now())
		run(t, n.config("100"), time.Minute)
		require.Contains(t, n.said(), "0s kill a")
		require.Len(t, n.Pods(), 1, "one sample, one pod")
	})
}

// notifier wakes the manager when it is told to.
type notifier struct {
	wake  chan struct{}
	err   error
	fresh int
}

func (n *notifier) Watch(ctx context.Context, notify func()) error {
	for n.err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.wake:
			notify()
		}
	}
	return n.err
}

func (n *notifier) Refresh([]eviction.Threshold, *eviction.NodeStats) error {
	n.fresh++
	return nil
}

func TestNotifierWakesTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"))
		n.At(3*time.Second, func(s *evictiontest.Stats) { s.Set(eviction.MemoryAvailable, 50, 1000) })
		cfg := n.config("100")
		notify := &notifier{wake: make(chan struct{})}
		cfg.Notifier = notify
		timer := time.AfterFunc(4*time.Second, func() { notify.wake <- struct{}{} })
		defer timer.Stop()
		m := run(t, cfg, 25*time.Second)
		require.Contains(t, n.said(), "4s kill a")
		require.NoError(t, m.Health().Polling)
		require.Equal(t, 4, notify.fresh, "at 0, 4, 14 and 24 s")
	})
}

// The figures may show only a moment after the kernel told of it that the limit
// was crossed; it does not tell twice. Nor does a flood of wakes make one of rounds.
func TestManagerThatWasWokenLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"))
		n.At(4500*time.Millisecond, func(s *evictiontest.Stats) { s.Set(eviction.MemoryAvailable, 50, 1000) })
		cfg := n.config("100")
		rounds := 0
		cfg.Hooks.Round = func(*eviction.Outcome) { rounds++ }
		m, err := eviction.NewManager(cfg)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		var flood sync.WaitGroup
		defer flood.Wait()
		flood.Go(func() {
			time.Sleep(4 * time.Second)
			for ctx.Err() == nil {
				m.Wake()
				time.Sleep(time.Millisecond)
			}
		})
		require.ErrorIs(t, m.Run(ctx), context.DeadlineExceeded)
		require.Contains(t, n.said(), "5s kill a")
		require.Less(t, rounds, 8)
	})
}

func TestBrokenNotifierLeavesPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"))
		cfg := n.config("100")
		cfg.Notifier = &notifier{err: errors.New("no PSI")}
		m := run(t, cfg, 25*time.Second)
		require.EqualError(t, m.Health().Polling, "no PSI")
	})
}

func TestRoundsNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"), namedPod("b"))
		n.Set(eviction.MemoryAvailable, 50, 1000)
		n.kill = func(eviction.Victim) error {
			n.mu.Lock()
			n.active++
			require.Equal(t, 1, n.active)
			n.mu.Unlock()
			<-time.After(time.Minute)
			n.mu.Lock()
			n.active--
			n.mu.Unlock()
			return nil
		}
		m, err := eviction.NewManager(n.config("100"))
		require.NoError(t, err)
		for range 2 {
			go m.Round(t.Context())
		}
		synctest.Wait()
		require.False(t, m.Health().RoundSince.IsZero())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = m.Round(ended)
		require.ErrorIs(t, err, context.Canceled)
		<-time.After(3 * time.Minute)
		require.Empty(t, n.Pods())
	})
}

func TestHealthTellsWhoIsBeingEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(namedPod("a"))
		n.Set(eviction.MemoryAvailable, 50, 1000)
		n.kill = func(v eviction.Victim) error {
			<-time.After(v.Grace())
			return nil
		}
		m, err := eviction.NewManager(n.config("100"))
		require.NoError(t, err)
		go m.Round(t.Context())
		synctest.Wait()
		require.Len(t, m.Health().Evicting, 1)
		require.Equal(t, time.Second, m.Health().Evicting[0].Grace())
		<-time.After(time.Minute)
		h := m.Health()
		require.Empty(t, h.Evicting)
		require.Len(t, h.Met, 1)
		h.Err = errors.New("no figures")
		data, err := json.Marshal(h)
		require.NoError(t, err)
		require.Contains(t, string(data), `"error":"no figures"`)
		require.Contains(t, string(data), `"met":[{"signal":"memory.available","value":"100"`)
	})
}

func TestManagerNeedsItsParts(t *testing.T) {
	_, err := eviction.NewManager(eviction.Config{
		Policy: eviction.Policy{Custom: map[eviction.Signal]eviction.CustomSignal{eviction.MemoryAvailable: {}}},
	})
	for _, part := range []string{"Config.Stats is required", "Config.Pods is required", "Config.Kill is required", "memory.available is no signal of the host's own"} {
		require.ErrorContains(t, err, part)
	}
}
