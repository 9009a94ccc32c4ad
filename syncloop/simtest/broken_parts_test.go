package simtest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
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
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
	"github.com/kubeparts/kubeparts/syncloop/simtest"
)

// token is the secret that all pods of a simulation have.
const token = "s3cret-t0ken"

// sayingElse has the agent's updates changed on their way to the sink.
func sayingElse(f func(u *syncloop.StatusUpdate)) func(*syncloop.Config) {
	return sink(func(ctx context.Context, u syncloop.StatusUpdate, to syncloop.StatusSink) error {
		u.Status = u.Status.DeepCopy()
		f(&u)
		return to.SetStatus(ctx, u)
	})
}

// unreadyAtFirst has each agent say once that a pod is not ready, which was.
func unreadyAtFirst(c *syncloop.Config) {
	var said sync.Map
	sayingElse(func(u *syncloop.StatusUpdate) {
		if _, again := said.LoadOrStore(u.Pod.UID, true); !again {
			for i := range u.Status.Conditions {
				if cond := &u.Status.Conditions[i]; cond.Type == v1.PodReady {
					cond.Status = v1.ConditionFalse
				}
			}
		}
	})(c)
}

// waitsForNobody has an agent believe that a static pod has stopped when it begins to,
// and say so to nobody.
func waitsForNobody(c *syncloop.Config) {
	sayingElse(func(u *syncloop.StatusUpdate) { u.MayRun = u.MayRun || podmanager.IsStatic(u.Pod) })(c)
	var stopping sync.Map
	c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
		KillPod: func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			if req.Pod == nil || !podmanager.IsStatic(req.Pod) {
				return rt.KillPod(ctx, req)
			}
			stopping.Store(req.Ref.UID, true)
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			_ = rt.KillPod(ctx, req)
			return nil
		},
		PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
			st, err := rt.PodStatus(ctx, uid)
			if _, ok := stopping.Load(uid); ok && err == nil {
				st = &runtime.PodStatus{PodRef: st.PodRef}
			}
			return st, err
		},
		Before: func(_ context.Context, call runtimetest.Call) error {
			if _, ok := stopping.Load(call.UID); ok && call.Method == "RemovePod" {
				return errors.New("it is in use")
			}
			return nil
		},
		After: func(_ context.Context, call runtimetest.Call, err error) error {
			if call.Method == "RemoveVolumes" {
				return nil
			}
			return err
		},
	})
}

// leavesBehind enters pods in the ledger again when they have ended.
func leavesBehind(c *syncloop.Config) {
	ledger := c.Admission.Ledger
	c.Hooks.PodStage = func(ref runtime.PodRef, stage lifecycle.Stage) {
		if stage == lifecycle.Finished {
			pod := &v1.Pod{}
			pod.UID, pod.Namespace, pod.Name = ref.UID, ref.Namespace, ref.Name
			_ = ledger.Add(pod)
		}
	}
}

// keeps is a Reserver that gives nothing back.
type keeps struct{ admission.Reserver }

func (keeps) Release(*v1.Pod) {}

// telling is a store that keeps too much.
type telling struct{ syncloop.Store }

func (s telling) Commit(ctx context.Context, b syncloop.Batch) error {
	for i := range b.Save {
		b.Save[i].Verdict = &podstatus.Verdict{Reason: "Because", Message: "of " + token}
	}
	return s.Store.Commit(ctx, b)
}

// evicting chooses the pods that f is true for.
func evicting(f func(*v1.Pod) bool) func(pods []*syncloop.PodView) []types.UID {
	return func(pods []*syncloop.PodView) (uids []types.UID) {
		for _, p := range pods {
			if p.Pod != nil && f(p.Pod) {
				return []types.UID{p.UID}
			}
		}
		return nil
	}
}

// Most promises have several parts. Each part is seen to be broken, too.
func TestEachPartOfAPromiseIsSeen(t *testing.T) {
	for want, c := range map[string]struct {
		invariant simtest.Invariant
		cfg       simtest.Config
	}{
		"is said to have stopped while it runs": {simtest.StopsInTime, simtest.Config{Change: sayingElse(func(u *syncloop.StatusUpdate) {
			u.MayRun = false
		})}},
		"takes something, and is not in the ledger": {simtest.LedgerIsTrue, simtest.Config{Change: func(c *syncloop.Config) {
			c.Admission.Ledger = admission.NewLedger() // which is not the one that is looked at
		}}},
		"takes nothing, and is in the ledger": {simtest.LedgerIsTrue, simtest.Config{Change: leavesBehind}},
		"something is reserved for it": {simtest.LedgerIsTrue, simtest.Config{Preempt: true, Change: func(c *syncloop.Config) {
			last := &c.Admission.Checks[len(c.Admission.Checks)-1]
			last.Handler = keeps{last.Handler.(admission.Reserver)}
		}}},
		"of one name run at one time": {simtest.OneInstance, simtest.Config{Change: waitsForNobody, Events: 60}},
		"is said to have been restarted less often": {simtest.RestartsGrow, simtest.Config{Change: sayingElse(func(u *syncloop.StatusUpdate) {
			for i := range u.Status.ContainerStatuses {
				u.Status.ContainerStatuses[i].RestartCount %= 2
			}
		})}},
		"and had to wait for": {simtest.RestartsGrow, simtest.Config{Runtime: func() runtime.Runtime {
			return runtimetest.NewFake(runtimetest.FakeConfig{Script: simtest.Script, Backoff: runtime.BackoffConfig{Base: 1, Max: 1}})
		}}},
		"static pod": {simtest.EvictsOne, simtest.Config{Evict: evicting(podmanager.IsStatic)}},
		"critical pod": {simtest.EvictsOne, simtest.Config{Evict: evicting(func(p *v1.Pod) bool {
			return !podmanager.IsStatic(p) && admission.IsCritical(p)
		})}},
		"comes after a newer one": {simtest.Converges, simtest.Config{Change: sayingElse(func(u *syncloop.StatusUpdate) {
			u.Version = 1<<40 - u.Version
		})}},
		"is said to be unready, and nothing has happened to it": {simtest.RestartTouchesNothing, simtest.Config{Change: unreadyAtFirst}},
		"the log says": {simtest.KeepsSecrets, simtest.Config{Change: func(c *syncloop.Config) {
			c.Logger.Info("the agent starts", "token", token)
		}}},
		"an event says": {simtest.KeepsSecrets, simtest.Config{Change: func(c *syncloop.Config) {
			c.Events.Eventf(&v1.Pod{}, v1.EventTypeNormal, "Started", "with %s", token)
		}}},
		"the record of pod": {simtest.KeepsSecrets, simtest.Config{Change: func(c *syncloop.Config) { c.Store = telling{c.Store} }}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c.cfg.Events = max(c.cfg.Events, 20)
			var seen []string
			for seed := uint64(1); seed < 60; seed++ {
				failure, _ := simtest.Check(t, c.cfg, seed)
				if failure == nil {
					continue
				}
				v := failure.Violation
				if seen = append(seen, v.Text); v.Invariant == c.invariant && strings.Contains(v.Text, want) {
					return
				}
			}
			require.Fail(t, "nothing was seen", "%q", seen)
		})
	}
}
