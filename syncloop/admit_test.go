package syncloop_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// room admits pods as long as so many CPUs are free; those that don't fit get
// the outcome.
func room(cpus string, outcome admission.Outcome) func(*syncloop.Config) {
	return func(c *syncloop.Config) {
		fit := admission.AdmitFunc(func(_ context.Context, req admission.Request) (admission.Verdict, error) {
			allocatable := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus), v1.ResourcePods: resource.MustParse("1000")}
			short := admission.Shortages(req.Pod, allocatable, req.Ledger)
			if len(short) == 0 {
				return admission.Admitted(), nil
			}
			return admission.Verdict{Outcome: outcome, Reason: short[0].Reason(), Message: short[0].Message()}, nil
		})
		c.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{Name: "fit", Handler: fit}}}
	}
}

func cpu(n string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(n)}
	}
}

func TestRejectedPod(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("big", cpu("3"))
		w.add(p)
		status := w.sink.Status(p.UID)
		require.Equal(t, v1.PodFailed, status.Phase)
		require.Equal(t, "OutOfcpu", status.Reason)
		require.Equal(t, "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000", status.Message)
		require.Equal(t, []string{"Warning OutOfcpu big: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"}, w.events.All())
		require.Empty(t, w.listed())
		u, _ := w.sink.Last(p.UID)
		require.True(t, u.Finished && !u.MayRun)

		w.remove(p)
		require.Empty(t, w.Pods())
		require.Zero(t, w.entered())
	}, room("2", admission.Reject))
}

// Rejected pods are never counted.
func TestRejectedPodTakesNothing_135296(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("big", cpu("3")))
		w.add(pod("small", cpu("2")))
		require.Equal(t, v1.PodRunning, w.phase("uid-small"))
	}, room("2", admission.Reject))
}

func TestOlderPodsGoFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("young", cpu("2"), created(time.Minute)), pod("old", cpu("2"), created(time.Hour)))
		require.Equal(t, v1.PodFailed, w.phase("uid-young"))
		require.Equal(t, v1.PodRunning, w.phase("uid-old"))
	}, room("2", admission.Reject))
}

// A pod that is being stopped holds what it took, although its source has
// forgotten it.
func TestTerminatingPodHoldsItsRoom_104824(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("old", cpu("2"), stubborn, grace(30))
		w.add(p)
		w.remove(p)
		w.add(pod("new", cpu("2")))
		require.Equal(t, v1.PodFailed, w.phase("uid-new"))
	}, room("2", admission.Reject))
}

func TestRetryLaterWaitsForRoom_128043(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		old := pod("old", cpu("2"), stubborn, grace(3))
		w.add(old)
		// Static pods wait too (kubernetes/kubernetes#138391).
		w.sendFrom("file", podmanager.OpAdd, pod("next", cpu("2"), static))
		status := w.sink.Status("uid-next")
		require.Equal(t, v1.PodPending, status.Phase)
		waiting := condition(status, syncloop.ConditionAdmitted)
		require.Equal(t, v1.ConditionFalse, waiting.Status)
		require.Equal(t, "OutOfcpu", waiting.Reason)
		since := waiting.LastTransitionTime
		v, _ := w.Pod("uid-next")
		require.Contains(t, v.Waiting, "OutOfcpu: ")
		require.Len(t, w.events.With("OutOfcpu"), 1)

		sleep(20 * time.Second)
		require.Len(t, w.events.With("OutOfcpu"), 1, "asked again, with the same answer")
		require.Equal(t, since, condition(w.sink.Status("uid-next"), syncloop.ConditionAdmitted).LastTransitionTime)

		w.remove(old)
		sleep(3 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-next"), "room wakes it at once")
		require.Nil(t, condition(w.sink.Status("uid-next"), syncloop.ConditionAdmitted))
	}, room("2", admission.Retry))
}

// Who waits is told since when also by the next agent.
func TestWaitGoesOnOverARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		holder, next := pod("holder", cpu("2")), pod("next", cpu("2"), static)
		w.add(holder)
		w.sendFrom("file", podmanager.OpAdd, next)
		since := w.waits(next.UID).LastTransitionTime
		sleep(time.Minute)
		w.restart()
		w.add(holder)
		w.sendFrom("file", podmanager.OpAdd, next)
		require.Equal(t, since, w.waits(next.UID).LastTransitionTime)
		v, _ := w.Pod(next.UID)
		require.Equal(t, since.Time, v.WaitingSince)
		w.remove(holder)
		sleep(20 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase(next.UID))
	}, room("2", admission.Retry))
}

// Whatever gives room back has those that wait asked for again at once, not at the
// next of their own times.
func TestWhatGivesRoomBackWakesThoseThatWait_128043(t *testing.T) {
	for name, c := range map[string]struct {
		holder *v1.Pod
		wants  func(*v1.Pod)
		frees  func(w *world, holder *v1.Pod)
	}{
		"a job is done": {
			pod("job", cpu("2"), policy(v1.RestartPolicyNever), running(runtimetest.RunsFor(time.Second, 0))), cpu("2"),
			func(*world, *v1.Pod) { sleep(time.Second) },
		},
		"a pod becomes smaller": {
			pod("web", cpu("2")), cpu("1"),
			func(w *world, holder *v1.Pod) { w.update(asks(holder, "1", 2)) },
		},
		"a port is free": {
			pod("web", hostPort(80)), hostPort(80),
			func(w *world, holder *v1.Pod) { w.remove(holder) },
		},
		"the node is another one": {
			pod("web", cpu("2")), cpu("1"),
			func(w *world, _ *v1.Pod) {
				w.config.Admission.Nodes.(*resized).cpus.Store("3")
				w.NodeChanged()
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := &resized{}
			node.cpus.Store("2")
			inBubble(t, func(t *testing.T, w *world) {
				w.add(c.holder)
				w.add(pod("next", c.wants))
				require.NotNil(t, w.waits("uid-next"))
				c.frees(w, c.holder)
				sleep(2 * time.Second)
				require.Equal(t, v1.PodRunning, w.phase("uid-next"))
			}, func(c *syncloop.Config) {
				c.AdmissionRetry = time.Hour
				c.Admission = &admission.Chain{Ledger: admission.NewLedger(), Nodes: node}
				for _, check := range admission.KubeletChecks(admission.Kubelet{}) {
					c.Admission.Checks = append(c.Admission.Checks, admission.Check{Name: check.Name, Handler: patient{check.Handler}})
				}
			})
		})
	}
}

// patient tries again where another handler rejects.
type patient struct{ admission.AdmitHandler }

func (p patient) Admit(ctx context.Context, req admission.Request) (admission.Verdict, error) {
	v, err := p.AdmitHandler.Admit(ctx, req)
	if v.Outcome == admission.Reject {
		v = admission.RetryLater(v.Reason, v.Message, 0)
	}
	return v, err
}

// resized is a node of so many CPUs.
type resized struct{ cpus atomic.Value }

func (r *resized) Node(context.Context, bool) (*v1.Node, error) {
	return &v1.Node{Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(r.cpus.Load().(string)), v1.ResourcePods: resource.MustParse("110"),
	}}}, nil
}

func hostPort(n int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: n}} }
}

func TestAdmissionThatCannotJudgeIsAskedAgain(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("web"))
		require.Equal(t, v1.PodPending, w.phase("uid-web"))
		broken.Store(false)
		sleep(16 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{Name: "flaky",
			Handler: admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
				if broken.Load() {
					return admission.Verdict{}, errors.New("no answer")
				}
				return admission.Admitted(), nil
			})}}}
	})
}

// A static pod that could not be judged when it came is judged again: it has no
// controller that would make another one.
func TestStaticPodIsTriedAgainOnceTheNodeCanBeRead_138391(t *testing.T) {
	var node atomic.Pointer[v1.Node]
	inBubble(t, func(t *testing.T, w *world) {
		w.sendFrom("file", podmanager.OpAdd, pod("web", static))
		require.Equal(t, v1.PodPending, w.phase("uid-web"))
		require.Equal(t, "InvalidNodeInfo", condition(w.sink.Status("uid-web"), syncloop.ConditionAdmitted).Reason)
		node.Store(&v1.Node{Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourcePods: resource.MustParse("1")}}})
		sleep(16 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{
			Ledger: admission.NewLedger(), Checks: admission.KubeletChecks(admission.Kubelet{}),
			Nodes: admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) {
				if n := node.Load(); n != nil {
					return n, nil
				}
				return nil, errors.New("the API server does not answer")
			}),
		}
	})
}

func TestTerminalPodSkipsAdmission(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("done", cpu("9"), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
		w.add(p)
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
		require.Empty(t, w.events.All())
		require.Zero(t, w.entered())
	}, room("2", admission.Reject))
}

func TestLedgerFollowsThePods(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		job := pod("job", cpu("1"), policy(v1.RestartPolicyNever), running(runtimetest.RunsFor(time.Second, 0)))
		web := pod("web", cpu("1"))
		w.add(job, web)
		require.Equal(t, 2, w.entered())
		sleep(2 * time.Second)
		require.Equal(t, 1, w.entered(), "a job that is done takes nothing")
		w.remove(job, web)
		require.Zero(t, w.entered())
	}, room("2", admission.Reject))
}

func condition(s v1.PodStatus, kind v1.PodConditionType) *v1.PodCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}
