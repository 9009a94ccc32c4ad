package syncloop_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// preempting is a node of so many CPUs on which critical pods take the place of
// others.
func preempting(cpus string) func(*syncloop.Config) {
	return func(c *syncloop.Config) {
		node := &v1.Node{Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpus), v1.ResourceMemory: resource.MustParse("1Gi"),
			v1.ResourcePods: resource.MustParse("110"),
		}}}
		c.Admission = &admission.Chain{
			Ledger: admission.NewLedger(), Nodes: admission.FixedNode(node),
			Checks: admission.KubeletChecks(admission.Kubelet{}), Preempt: true,
		}
	}
}

func priority(n int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Priority = &n }
}

// guaranteed gives the container limits as large as its requests.
func guaranteed(n string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		all := v1.ResourceList{v1.ResourceCPU: resource.MustParse(n), v1.ResourceMemory: resource.MustParse("1")}
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: all, Limits: all}
	}
}

// waits is the condition of a pod that is not let in yet.
func (w *world) waits(uid types.UID) *v1.PodCondition {
	return condition(w.sink.Status(uid), syncloop.ConditionAdmitted)
}

func preempted(t *testing.T, status v1.PodStatus) {
	t.Helper()
	require.Equal(t, v1.PodFailed, status.Phase)
	require.Equal(t, "Preempting", status.Reason)
	require.Equal(t, "Preempted in order to admit critical pod", status.Message)
	c := condition(status, v1.DisruptionTarget)
	require.NotNil(t, c)
	require.Equal(t, v1.ConditionTrue, c.Status)
	require.Equal(t, "TerminationByKubelet", c.Reason)
	require.Equal(t, "Pod was preempted by Kubelet to accommodate a critical pod.", c.Message)
	require.False(t, c.LastTransitionTime.IsZero())
}

// A static pod is critical: on a full node it takes the place of the right ones.
// They stop side by side, each with its own grace, while the loop goes on. The
// kubelet's stands still, and they stop one after another.
func TestCriticalStaticPodTakesThePlaceOfOthers(t *testing.T) {
	var told []string
	inBubble(t, func(t *testing.T, w *world) {
		w.add(
			pod("guaranteed", guaranteed("1"), stubborn, grace(10)),
			pod("first", cpu("1"), stubborn, grace(30)),
			pod("second", cpu("1"), stubborn, grace(20)),
			pod("besteffort"),
		)
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("2"), static))
		wait := w.waits("uid-critical")
		require.NotNil(t, wait)
		require.Equal(t, "Preempting", wait.Reason)
		require.Equal(t, "waiting for pods to stop that give way: default/second, default/first", wait.Message)
		require.Equal(t, 5, w.entered(), "its room is kept")

		w.add(pod("late", cpu("1")))
		require.Equal(t, "OutOfcpu", w.sink.Status("uid-late").Reason, "nobody slips in between")

		sleep(20 * time.Second)
		preempted(t, w.sink.Status("uid-second"))
		require.True(t, w.observed("uid-first").Running(), "it has its own grace")
		require.Equal(t, v1.PodPending, w.phase("uid-critical"))
		sleep(12 * time.Second)
		preempted(t, w.sink.Status("uid-first"))
		require.Equal(t, v1.PodRunning, w.phase("uid-critical"))
		require.Nil(t, w.waits("uid-critical"))
		require.Equal(t, v1.PodRunning, w.phase("uid-guaranteed"))
		require.Equal(t, v1.PodRunning, w.phase("uid-besteffort"), "it has no cpu to give")
		require.Equal(t, []string{
			"Warning Preempting critical: waiting for pods to stop that give way: default/second, default/first",
			"Warning Preempting second: Preempted in order to admit critical pod",
			"Warning Preempting first: Preempted in order to admit critical pod",
		}, w.events.With("Preempting"))
		require.Equal(t, []string{"second for critical: cpu", "first for critical: cpu"}, told)

		w.add(pod("first", cpu("1"), stubborn, grace(30)))
		require.Equal(t, v1.PodFailed, w.phase("uid-first"), "it does not come back")
	}, preempting("3"), func(c *syncloop.Config) {
		c.Hooks.PodPreempted = func(pod, critical runtime.PodRef, signal v1.ResourceName) {
			told = append(told, pod.Name+" for "+critical.Name+": "+string(signal))
		}
	})
}

// kills counts the calls that stop a pod, and refuses them while it is broken.
type kills struct {
	broken atomic.Bool
	pods   atomic.Int32
}

func (k *kills) intercept(c *syncloop.Config) {
	c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
		KillPod: func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			k.pods.Add(1)
			if k.broken.Load() && req.Ref.Name == "stuck" {
				return context.DeadlineExceeded
			}
			return rt.KillPod(ctx, req)
		},
	})
}

// In the kubelet the critical pod runs beside the victim then.
func TestVictimThatDoesNotStopIsReportedAndOthersAreChosen(t *testing.T) {
	var k kills
	k.broken.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("other", guaranteed("1")), pod("stuck", cpu("1"), grace(10)))
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("1"), static))
		require.Contains(t, w.waits("uid-critical").Message, "default/stuck")
		sleep(14 * time.Second)
		require.Equal(t, v1.PodPending, w.phase("uid-critical"))
		require.Equal(t, v1.PodRunning, w.phase("uid-other"))
		require.Empty(t, w.events.With("ExceededGracePeriod"))

		sleep(2 * time.Second) // one and a half times its grace is over
		require.Equal(t, []string{
			"Warning ExceededGracePeriod stuck: Container runtime did not kill the pod within specified grace period.",
		}, w.events.With("ExceededGracePeriod"))
		sleep(2 * time.Second)
		preempted(t, w.sink.Status("uid-other"))
		require.Equal(t, v1.PodRunning, w.phase("uid-critical"))
		require.True(t, w.observed("uid-stuck").Running())

		k.broken.Store(false)
		sleep(20 * time.Second)
		preempted(t, w.sink.Status("uid-stuck"))
		require.Equal(t, 1, w.entered())
	}, preempting("2"), k.intercept)
}

// Where nobody else may go, the critical pod waits for the one that does not stop.
// The node is never over-committed.
func TestCriticalPodWaitsForTheOnlyVictim(t *testing.T) {
	var k kills
	k.broken.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("stuck", cpu("1"), grace(10)))
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("1"), static))
		sleep(10 * time.Minute)
		require.Equal(t, v1.PodPending, w.phase("uid-critical"))
		require.NotNil(t, w.waits("uid-critical"))
		require.Len(t, w.events.With("ExceededGracePeriod"), 1)
		require.Len(t, w.events.With("Preempted"), 1, "it is told once")

		k.broken.Store(false)
		sleep(20 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-critical"))
	}, preempting("1"), k.intercept)
}

// Of several that wait the first begins as soon as there is room for it, whatever
// becomes of the other's victim.
func TestFirstOfSeveralCriticalPodsDoesNotWaitForTheLastVictim(t *testing.T) {
	var k kills
	k.broken.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("ends", cpu("1"), stubborn, grace(10)), pod("stuck", cpu("1"), grace(10)))
		w.sendFrom("file", podmanager.OpAdd, pod("first", cpu("1"), static), pod("second", cpu("1"), static))
		sleep(13 * time.Second)
		preempted(t, w.sink.Status("uid-ends"))
		require.Equal(t, v1.PodRunning, w.phase("uid-first"))
		require.Equal(t, v1.PodPending, w.phase("uid-second"))
		k.broken.Store(false)
		sleep(20 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-second"))
		require.Equal(t, 2, w.entered())
	}, preempting("2"), k.intercept)
}

// A pod that is being stopped anyway counts as gone: nobody else is stopped, and
// its end is its own.
func TestVictimsThatAreLeavingAlready(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		leaving := pod("leaving", guaranteed("1"), stubborn, grace(30))
		w.add(leaving, pod("stays", cpu("1")))
		w.remove(leaving)
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("1"), static))
		require.Equal(t, "waiting for pods that are being stopped", w.waits("uid-critical").Message)
		sleep(32 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-critical"))
		require.Equal(t, v1.PodRunning, w.phase("uid-stays"))
		require.Empty(t, w.events.With("Preempted"))
	}, preempting("2"))
}

func TestCriticalPodIsRemovedMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("victim", cpu("1"), stubborn, grace(30)))
		critical := pod("critical", cpu("1"), static)
		w.sendFrom("file", podmanager.OpAdd, critical)
		w.sendFrom("file", podmanager.OpRemove, critical)
		_, known := w.Pod(critical.UID)
		require.False(t, known)
		require.Equal(t, 1, w.entered())
		sleep(30 * time.Second)
		preempted(t, w.sink.Status("uid-victim"))
		require.Zero(t, w.entered())
		w.add(pod("next", cpu("1")))
		require.Equal(t, v1.PodRunning, w.phase("uid-next"))
	}, preempting("1"))
}

// The source deletes the parked pod gracefully: it never ran, and gives its room
// back.
func TestParkedPodIsDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("victim", cpu("1"), stubborn, grace(30)))
		critical := pod("critical", cpu("1"), priority(admission.CriticalPriority))
		w.add(critical)
		require.NotNil(t, w.waits(critical.UID))
		deleted := critical.DeepCopy()
		now := metav1.Now()
		deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &now, new(int64(1))
		w.send(podmanager.OpDelete, deleted)
		require.True(t, podstatus.Terminal(w.phase(critical.UID)))
		w.remove(deleted)
		sleep(31 * time.Second)
		require.Zero(t, w.entered())
	}, preempting("1"))
}

// A parked pod that is refused after all gives its room back to those that wait for
// some.
func TestRoomOfAParkedPodThatIsRefused(t *testing.T) {
	var refuse atomic.Bool
	inBubble(t, func(t *testing.T, w *world) {
		victim, web := pod("victim", cpu("1"), stubborn, grace(30)), pod("web", guaranteed("1"))
		w.add(web, victim)
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("1"), static))
		require.NotNil(t, w.waits("uid-critical"))
		grown := web.DeepCopy()
		guaranteed("2")(grown)
		w.update(grown)
		require.NotNil(t, w.said(web.UID, v1.PodResizePending))
		refuse.Store(true)
		sleep(33 * time.Second)
		require.Equal(t, "Mood", w.sink.Status("uid-critical").Reason)
		require.Equal(t, "2 2 2", w.has(web.UID))
	}, preempting("2"), func(c *syncloop.Config) {
		c.AdmissionRetry = time.Hour
		c.Admission.Checks = append(c.Admission.Checks, admission.Check{Name: "Mood", Handler: admission.AdmitFunc(
			func(_ context.Context, req admission.Request) (admission.Verdict, error) {
				if refuse.Load() && req.Pod.Name == "critical" {
					return admission.Rejected("Mood", "not today"), nil
				}
				return admission.Admitted(), nil
			})})
	})
}

// A pod that waits for its victims gives way to one that is more important: it is
// judged again without the room that was kept for it.
func TestParkedPodGivesWayToAHigherOne(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("victim", cpu("1"), stubborn, grace(30)))
		w.add(pod("lower", cpu("1"), priority(admission.CriticalPriority)))
		w.add(pod("higher", cpu("1"), priority(admission.CriticalPriority+1)))
		sleep(32 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-higher"))
		require.Equal(t, v1.PodFailed, w.phase("uid-lower"))
		require.Equal(t, "UnexpectedAdmissionError", w.sink.Status("uid-lower").Reason)
		require.Equal(t, 1, w.entered())
	}, preempting("1"))
}

// The agent ends in the middle. The next one goes on with the stop, chooses nobody
// else, and lets the critical pod in, whatever it hears of first.
func TestRestartInTheMiddleOfAPreemption(t *testing.T) {
	for _, first := range []string{"file", "test", "both at once"} {
		t.Run(first, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				victim, other := pod("victim", cpu("1"), stubborn, grace(60)), pod("other", guaranteed("1"))
				critical := pod("critical", cpu("1"), static)
				w.add(victim, other)
				w.sendFrom("file", podmanager.OpAdd, critical)
				sleep(10 * time.Second)
				w.restart()
				switch first {
				case "file":
					w.sendFrom("file", podmanager.OpAdd, critical)
					w.add(victim, other)
				case "test":
					w.add(victim, other)
					w.sendFrom("file", podmanager.OpAdd, critical)
				default:
					w.add(victim, other, critical)
				}
				require.NotNil(t, w.waits(critical.UID))
				sleep(40 * time.Second)
				require.True(t, w.observed(victim.UID).Running(), "it has what is left of its grace")
				sleep(20 * time.Second)
				preempted(t, w.sink.Status(victim.UID))
				require.Equal(t, v1.PodRunning, w.phase(critical.UID))
				require.Equal(t, v1.PodRunning, w.phase(other.UID))
				require.Len(t, w.events.With("Preempted"), 1)
				require.Equal(t, 2, w.entered())
			}, preempting("2"))
		})
	}
}

// After a restart the room of pods is kept whose source has not spoken. Nobody
// knows what they are: a critical pod waits, and is not refused for good.
func TestCriticalPodWaitsForSourcesThatHaveNotSpoken(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := pod("web", cpu("1"))
		w.add(web)
		w.restart()
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("1"), static))
		sleep(time.Minute)
		require.Equal(t, v1.PodPending, w.phase("uid-critical"))
		require.Equal(t, "UnexpectedAdmissionError", w.waits("uid-critical").Reason)
		require.True(t, w.observed(web.UID).Running())

		w.add(web)
		sleep(16 * time.Second)
		preempted(t, w.sink.Status(web.UID))
		require.Equal(t, v1.PodRunning, w.phase("uid-critical"))
	}, preempting("1"), func(c *syncloop.Config) { c.Sources = []string{"file", "test"} })
}

// A mirror stands for its static pod in the API: it takes nothing, and protects
// nobody.
func TestMirrorPodsAreNotCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		victim := pod("victim", cpu("1"))
		mirror := pod("critical", cpu("1"), uid("mirror"), func(p *v1.Pod) {
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash-uid-critical"}
		})
		w.add(victim, mirror)
		require.Equal(t, 1, w.entered())
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("1"), static))
		sleep(2 * time.Second)
		preempted(t, w.sink.Status(victim.UID))
		require.Equal(t, v1.PodRunning, w.phase("uid-critical"))
		require.Equal(t, 1, w.entered())
	}, preempting("1"))
}

// One that is shut down while it waits gives its room back.
func TestShutdownWhileAPodIsParked(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("victim", cpu("1"), stubborn, grace(30)))
		w.sendFrom("file", podmanager.OpAdd, pod("critical", cpu("1"), static))
		require.NoError(t, w.Shutdown(t.Context(), syncloop.ShutdownOptions{Grace: time.Second}))
		require.Equal(t, "NodeShutdown", w.sink.Status("uid-critical").Reason)
		preempted(t, w.sink.Status("uid-victim"))
		require.Zero(t, w.entered())
	}, preempting("1"))
}

// There is no set of victims: it is refused for good, in the kubelet's words.
func TestCriticalPodThatFindsNoVictims(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.sendFrom("file", podmanager.OpAdd, pod("first", cpu("1"), static))
		w.sendFrom("file", podmanager.OpAdd, pod("second", cpu("1"), static))
		status := w.sink.Status("uid-second")
		require.Equal(t, v1.PodFailed, status.Phase)
		require.Equal(t, "UnexpectedAdmissionError", status.Reason)
		require.Contains(t, status.Message, "no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]")
		require.Equal(t, 1, w.entered())
	}, preempting("1"))
}
