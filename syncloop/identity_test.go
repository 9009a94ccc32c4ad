package syncloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// The kubelet's successor waits for its work queue and the next housekeeping.
func TestStaticPodsOfOneNameFollowEachOtherAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		old := pod("web", static, uid("one"), stubborn, grace(10))
		next := pod("web", static, uid("two"))
		w.sendFrom("file", podmanager.OpAdd, old)
		w.sendFrom("file", podmanager.OpRemove, old)
		w.sendFrom("file", podmanager.OpAdd, next)
		v, _ := w.Pod("two")
		require.Contains(t, v.Waiting, "another static pod named web_default")
		sleep(9 * time.Second)
		require.Empty(t, w.observed("two").Containers)
		sleep(time.Second)
		require.True(t, w.observed("two").Running())
		require.False(t, w.observed("one").Running())
	})
}

func TestStaticPodThatNeverGotItsNameLeavesTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		old := pod("web", static, uid("one"), stubborn, grace(10))
		second := pod("web", static, uid("two"))
		third := pod("web", static, uid("three"))
		for _, p := range []*v1.Pod{old, second, third} {
			w.sendFrom("file", podmanager.OpAdd, p)
		}
		w.sendFrom("file", podmanager.OpRemove, second)
		w.sendFrom("file", podmanager.OpRemove, old)
		sleep(10 * time.Second)
		require.Equal(t, []string{"three"}, strs(w.listed()))
	})
}

// The manifest of a pod that needs most of the node changes: the new pod must not
// be judged while the old one still takes its room (kubernetes/kubernetes#138391).
func TestSuccessorIsJudgedOnceItsPredecessorHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		old := pod("web", static, uid("one"), stubborn, grace(10), cpu("2"))
		w.sendFrom("file", podmanager.OpAdd, old)
		w.sendFrom("file", podmanager.OpRemove, old)
		w.sendFrom("file", podmanager.OpAdd, pod("web", static, uid("two"), cpu("2")))
		require.Equal(t, "NameTaken", condition(w.sink.Status("two"), syncloop.ConditionAdmitted).Reason)
		sleep(10 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("two"))
		require.Nil(t, condition(w.sink.Status("two"), syncloop.ConditionAdmitted))
	}, room("2", admission.Reject))
}

func TestRefusedStaticPodLeavesItsName(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.sendFrom("file", podmanager.OpAdd, pod("web", static, uid("one"), cpu("3")))
		w.sendFrom("http", podmanager.OpAdd, pod("web", static, uid("two"), cpu("1")))
		require.Equal(t, v1.PodFailed, w.phase("one"))
		require.Equal(t, v1.PodRunning, w.phase("two"))
	}, room("2", admission.Reject))
}

// The manifest of a pod changed while the agent was away.
func TestStaticPodsOfOneNameDoNotOverlapAcrossARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sendFrom("file", podmanager.OpAdd, pod("web", static, uid("one")))
		w.restart()
		w.sendFrom("file", podmanager.OpAdd, pod("web", static, uid("two")))
		require.Empty(t, w.observed("two").Containers)
		require.True(t, w.observed("one").Running())
		sleep(3 * time.Second)
		require.False(t, w.observed("one").Running())
		require.True(t, w.observed("two").Running())
	})
}

func TestAPIPodAndStaticPodOfOneNameRunTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.sendFrom("file", podmanager.OpAdd, pod("web", static, uid("one")))
		w.sendFrom("api", podmanager.OpAdd, pod("web", uid("two")))
		require.True(t, w.observed("one").Running())
		require.True(t, w.observed("two").Running())
	})
}

// A pod that comes again under its UID waits until the old life is over, and
// then runs at once; the kubelet needs up to a tick of its housekeeping.
func TestRecreatedUIDBeginsANewLife(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", static, running(runtimetest.Script{StopAfter: 5 * time.Second}))
		w.sendFrom("file", podmanager.OpAdd, p)
		w.sendFrom("file", podmanager.OpRemove, p)
		sleep(time.Second)
		w.sendFrom("file", podmanager.OpAdd, p.DeepCopy())
		sleep(3 * time.Second)
		require.EqualValues(t, 0, w.observed(p.UID).Containers[0].RestartCount)
		sleep(time.Second)
		require.True(t, w.observed(p.UID).Running())
		require.Equal(t, v1.PodRunning, w.phase(p.UID))
		var last uint64
		for _, u := range w.sink.History(p.UID) {
			require.GreaterOrEqual(t, u.Version, last, "versions go on")
			last = u.Version
		}
	})
}

func TestCompletedPodIsNotRestartedByAnotherAdd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		w.add(p)
		w.add(p.DeepCopy())
		w.send(podmanager.OpUpdate, p.DeepCopy())
		sleep(2 * time.Minute)
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
		require.Len(t, w.observed(p.UID).Containers, 1)
	})
}

func TestNewestUpdateWins(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", running(runtimetest.Script{StartDelay: 10 * time.Second}))
		w.add(p)
		for i := range 100 {
			c := p.DeepCopy()
			c.Labels = map[string]string{"version": string(rune('a' + i%26))}
			c.Generation = int64(i)
			w.send(podmanager.OpUpdate, c)
		}
		sleep(time.Minute)
		require.EqualValues(t, 99, w.sink.Status(p.UID).ObservedGeneration)
		require.Less(t, len(w.sink.History(p.UID)), 10, "those between are left out")
	})
}

func strs[T ~string](list []T) (out []string) {
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}
