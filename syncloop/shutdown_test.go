package syncloop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

func TestRunLeavesPodsRunning(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("web"))
		w.stop()
		require.True(t, w.observed("uid-web").Running())
		require.Len(t, w.Pods(), 1, "what was known can still be asked for")
		require.ErrorIs(t, w.Shutdown(t.Context(), syncloop.ShutdownOptions{}), syncloop.ErrNotRunning)
		require.ErrorIs(t, w.Run(t.Context()), syncloop.ErrRan)
		w.start()
	})
}

func TestClosedUpdatesEndTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		updates := make(chan podmanager.Update)
		w.config.Updates = updates
		loop, err := syncloop.New(w.config)
		require.NoError(t, err)
		close(updates)
		require.NoError(t, loop.Run(t.Context()))
	})
}

func TestShutdown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		slow := pod("slow", stubborn, grace(20))
		w.add(job, pod("web"), slow)
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- w.Shutdown(context.Background(), syncloop.ShutdownOptions{}) }()
		synctest.Wait()
		v, _ := w.Pod(slow.UID)
		require.Equal(t, lifecycle.Terminating, v.Stage)
		require.Equal(t, began.Add(20*time.Second), v.Deadline)
		v, _ = w.Pod("uid-web")
		require.Equal(t, lifecycle.Finished, v.Stage)

		w.add(pod("late"))
		require.Equal(t, "NodeShutdown", w.sink.Status("uid-late").Reason)
		require.Equal(t, "Pod was rejected: Pod was rejected as the node is shutting down.", w.sink.Status("uid-late").Message)

		require.NoError(t, <-done)
		require.Equal(t, 20*time.Second, time.Since(began))
		require.Equal(t, v1.PodFailed, w.phase(slow.UID))
		require.Equal(t, "Terminated", w.sink.Status(slow.UID).Reason)
		require.Equal(t, v1.PodSucceeded, w.phase(job.UID))

		// The next agent runs what is wanted, and remembers what had ended.
		w.restart()
		w.add(job, pod("web"), slow, pod("late"))
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
		require.Equal(t, v1.PodRunning, w.phase("uid-late"))
		require.Equal(t, v1.PodSucceeded, w.phase(job.UID))
		require.Len(t, w.observed(job.UID).Containers, 1)
	})
}

// A node that goes down again before its sources have spoken, as in a drain while the
// API is away, forgets nothing of what they will name: a job that is done is done.
func TestShutdownBeforeTheSourcesSpokeForgetsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := pod("job", static, policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		web := pod("web", static)
		w.add(job, web)
		ran := w.containerStatus(job, "c").State
		require.NotNil(t, ran.Terminated)
		w.restart()
		sleep(time.Minute)
		require.NoError(t, w.Shutdown(t.Context(), syncloop.ShutdownOptions{}))
		require.False(t, w.observed(web.UID).Running())
		w.restart()
		w.add(job, web)
		sleep(time.Minute)
		require.Equal(t, v1.PodSucceeded, w.phase(job.UID))
		require.Equal(t, ran, w.containerStatus(job, "c").State, "its only run")
		require.True(t, w.observed(web.UID).Running())
	})
}

// Nor does it start what they name while it goes down.
func TestShutdownStartsNothingThatItsSourcesNameMeanwhile(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lost := pod("lost", static)
		slow := pod("slow", static, stubborn, grace(60))
		w.add(lost, slow)
		w.stop()
		w.fake.Forget(lost.UID)
		w.start()
		sleep(time.Second)
		done := make(chan error, 1)
		go func() { done <- w.Shutdown(context.Background(), syncloop.ShutdownOptions{}) }()
		sleep(10 * time.Second)
		w.add(lost, slow)
		require.Equal(t, "Terminated", w.sink.Status(lost.UID).Reason)
		sleep(10 * time.Second)
		require.False(t, w.observed(lost.UID).Running())
		require.NoError(t, <-done)
		w.restart()
		w.add(lost, slow)
		require.True(t, w.observed(lost.UID).Running())
	})
}

func TestShutdownIsHurried(t *testing.T) {
	for name, opts := range map[string]syncloop.ShutdownOptions{
		"now":     {Now: true},
		"shorter": {Grace: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.add(pod("slow", stubborn, grace(300)))
				done := make(chan error, 1)
				go func() { done <- w.Shutdown(context.Background(), syncloop.ShutdownOptions{}) }()
				sleep(10 * time.Second)
				began := time.Now()
				require.NoError(t, w.Shutdown(context.Background(), opts))
				require.Equal(t, opts.Grace, time.Since(began))
				require.NoError(t, <-done)
				require.False(t, w.observed("uid-slow").Running())
			})
		})
	}
}

func TestShutdownRemovesIfAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add(pod("web"), pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0))))
		require.NoError(t, w.Shutdown(t.Context(), syncloop.ShutdownOptions{Remove: true}))
		require.Empty(t, w.listed())
		require.Equal(t, v1.PodSucceeded, w.phase("uid-job"))
		require.Len(t, w.Pods(), 2)
	})
}

func TestShutdownOfAnEmptyNode(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		synctest.Wait()
		require.NoError(t, w.Shutdown(t.Context(), syncloop.ShutdownOptions{}))
		require.NoError(t, w.Shutdown(t.Context(), syncloop.ShutdownOptions{}))
	})
}

func TestShutdownThatIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("slow", stubborn, grace(60)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.Shutdown(ctx, syncloop.ShutdownOptions{}), context.DeadlineExceeded)
		sleep(time.Minute)
		require.False(t, w.observed("uid-slow").Running(), "the stop goes on")
	})
}
