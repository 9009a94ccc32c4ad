package podruntime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

type scripts = map[string]runtimetest.Script

func TestNewNamesTheField(t *testing.T) {
	backend := runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{})
	for field, cfg := range map[string]podruntime.Config{
		"Backend: required":                 {Root: "/r"},
		"Root: required":                    {Backend: backend},
		`Root: "r" is not an absolute path`: {Backend: backend, Root: "r"},
		"Owner: a valid label must be":      {Backend: backend, Root: "/r", Owner: "a b"},
		"PostStartTimeout: -1s is negative": {Backend: backend, Root: "/r", PostStartTimeout: -time.Second},
	} {
		_, err := podruntime.New(cfg)
		require.ErrorContains(t, err, field)
	}
	_, err := podruntime.New(podruntime.Config{Backend: backend, Root: "/r"})
	require.NoError(t, err)
}

// Containers of a pod are started at the same time, not one after another.
func TestStartsInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"a": {StartDelay: 5 * time.Second}, "b": {StartDelay: 5 * time.Second}}, podruntime.Config{})
		pod := newPod("web", container("a"), container("b"))
		begin := time.Now()
		res, err := n.sync(pod)
		require.NoError(t, err)
		require.True(t, res.Acted)
		require.Equal(t, []runtime.StartResult{{Container: "a"}, {Container: "b"}}, res.Containers)
		require.Equal(t, 5*time.Second, time.Since(begin))
		require.ElementsMatch(t, []string{
			"Normal Created spec.containers{a}: Container created",
			"Normal Created spec.containers{b}: Container created",
			"Normal Started spec.containers{a}: Container started",
			"Normal Started spec.containers{b}: Container started",
		}, n.events.take())

		res, err = n.sync(pod)
		require.NoError(t, err)
		require.Zero(t, res, "nothing is left to do")
	})
}

// A pass returns once a plain init container was started; sidecars and then the
// regular containers follow.
func TestInitContainersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"first": runtimetest.RunsFor(time.Second, 0), "last": runtimetest.RunsFor(time.Second, 0)}, podruntime.Config{})
		pod := newPod("web", container("main"))
		pod.Spec.InitContainers = []v1.Container{container("first"), sidecar("proxy"), container("last")}
		n.settle(pod)
		require.Equal(t, map[string]string{"first": "running #0"}, n.states(pod))
		time.Sleep(2 * time.Second)
		n.settle(pod)
		require.Equal(t, map[string]string{"first": "exited #0", "proxy": "running #0", "last": "running #0"}, n.states(pod))
		time.Sleep(2 * time.Second)
		n.settle(pod)
		require.Equal(t, "running #0", n.states(pod)["main"])
		require.Contains(t, n.events.take(), "Normal Started spec.initContainers{proxy}: Container started")
	})
}

func TestCrashLoopBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": {Exits: true, ExitCode: 3, Output: "hi\n"}}, podruntime.Config{})
		pod := newPod("web", container("main"))
		res := n.settle(pod) // first start, first restart at once, then 10 s
		require.Equal(t, map[string]string{"main": "exited #1"}, n.states(pod))
		require.Equal(t, time.Now().Add(10*time.Second), res.RetryAt)
		require.Equal(t, []runtime.StartResult{{
			Container: "main", Reason: "CrashLoopBackOff",
			Message: "back-off 10s restarting failed container=main pod=web_default(uid-web)",
		}}, res.Containers)
		require.Contains(t, n.events.take(), "Warning BackOff spec.containers{main}: "+
			"Back-off restarting failed container main in pod web_default(uid-web)")

		time.Sleep(time.Until(res.RetryAt))
		res = n.settle(pod)
		require.Equal(t, time.Now().Add(20*time.Second), res.RetryAt)
		st := n.status(pod)
		require.Len(t, st.Containers, 1, "dead instances but the newest are removed")
		require.Equal(t, int32(2), st.Containers[0].RestartCount)
		logs, err := os.ReadDir(filepath.Join(n.root, "logs", "default_web_uid-web", "main"))
		require.NoError(t, err)
		require.Len(t, logs, 1, "and their logs")
	})
}

func TestBackoffIsConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": runtimetest.ExitsWith(3)}, podruntime.Config{
			CrashLoop: runtime.BackoffConfig{Base: time.Second, Max: time.Second},
		})
		pod := newPod("web", container("main"))
		for range 3 {
			res := n.settle(pod)
			require.Equal(t, time.Now().Add(time.Second), res.RetryAt)
			time.Sleep(time.Second)
		}
	})
}

func TestSandboxIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		pod := newPod("web", container("main"))
		n.settle(pod)
		require.NoError(t, n.backend.FailSandbox(pod.UID))
		n.events.take()
		n.settle(pod)
		st := n.status(pod)
		require.Equal(t, uint32(1), st.Sandboxes[0].Attempt)
		require.True(t, st.Sandboxes[0].Ready)
		require.Equal(t, st.Sandboxes[0].IPs, st.IPs)
		require.Equal(t, "running #1", n.states(pod)["main"])
		require.Equal(t, "Normal SandboxChanged : Pod sandbox changed, it will be killed and re-created.", n.events.take()[0])
	})
}

func TestChangedSpecRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		pod := newPod("web", container("main"), container("other"))
		n.settle(pod)
		n.events.take()
		pod = pod.DeepCopy()
		pod.Spec.Containers[0].Image = "img:2"
		n.settle(pod)
		require.Equal(t, map[string]string{"main": "running #1", "other": "running #0"}, n.states(pod))
		require.Contains(t, n.events.take(), "Normal Killing spec.containers{main}: Container main definition changed, will be restarted")
	})
}

// A new Runtime over the same backend and root adopts all that runs.
func TestAgentRestartRestartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"crash": runtimetest.RunsFor(time.Minute, 1)}, podruntime.Config{})
		pod := newPod("web", container("main"), container("crash"))
		n.settle(pod)
		before := n.status(pod)

		again := newNode(t, nil, podruntime.Config{Backend: n.backend, Root: n.root})
		res := again.settle(pod)
		require.Zero(t, res)
		after := again.status(pod)
		after.ObservedAt = before.ObservedAt
		require.Equal(t, before, after)

		time.Sleep(time.Minute + time.Second)
		again.settle(pod)
		require.Equal(t, "running #1", again.states(pod)["crash"])
	})
}

// Restart counts are taken from the names of the logs when the runtime has
// forgotten the containers.
func TestRestartCountSurvivesForgetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		pod := newPod("web", container("main"))
		dir := filepath.Join(n.root, "logs", "default_web_uid-web", "main")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "6.log"), nil, 0o600))
		n.settle(pod)
		require.Equal(t, "running #7", n.states(pod)["main"])
	})
}

func TestForeignPodsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := newNode(t, nil, podruntime.Config{})
		theirs := newNode(t, nil, podruntime.Config{Backend: mine.backend, Owner: "other"})
		pod := newPod("web", container("main"))
		theirs.settle(pod)

		list, err := mine.ListPods(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)
		require.Empty(t, mine.status(pod).Containers)
		require.NoError(t, mine.kill(pod, time.Second))
		require.NoError(t, mine.RemovePod(t.Context(), pod.UID))
		require.Equal(t, "running #0", theirs.states(pod)["main"])
		list, err = theirs.ListPods(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
	})
}

// A start that fails is reported, and not repeated at once: no loop of failing
// instances.
func TestFailedStartIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"bad": {StartError: errors.New("no such command")}}, podruntime.Config{})
		pod := newPod("web", container("bad"), container("good"))
		res, err := n.sync(pod)
		require.NoError(t, err)
		require.Len(t, res.Containers, 2)
		require.Equal(t, "RunContainerError", res.Containers[0].Reason)
		require.Equal(t, runtime.StartResult{Container: "good"}, res.Containers[1])
		require.Contains(t, n.events.take(), "Warning Failed spec.containers{bad}: Error: start container bad: no such command",
			"the ID gives way to the name, so that events can be added up")

		again, err := n.sync(pod)
		require.NoError(t, err)
		require.False(t, again.Acted)
		require.Equal(t, res.Containers[:1], again.Containers)
		require.Equal(t, time.Now().Add(10*time.Second), again.RetryAt)
		require.Empty(t, n.events.take())

		mended := pod.DeepCopy()
		mended.Spec.Containers[0].Image = "img:2"
		res, err = n.sync(mended)
		require.NoError(t, err)
		require.True(t, res.Acted, "another spec is tried at once")

		time.Sleep(10 * time.Second)
		res, err = n.sync(mended)
		require.NoError(t, err)
		require.True(t, res.Acted)

		require.NoError(t, n.backend.FailSandbox(pod.UID))
		res, err = n.sync(mended)
		require.NoError(t, err)
		require.Equal(t, "RunContainerError", res.Containers[0].Reason)
		require.Equal(t, int32(3), n.status(pod).Container("bad").RestartCount, "it was tried again in the new sandbox")
	})
}

func TestConfigErrorNamesTheReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		pod := newPod("web", container("main"))
		pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PASSWORD", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
			LocalObjectReference: v1.LocalObjectReference{Name: "db"}, Key: "password",
		}}}}
		res, err := n.sync(pod)
		require.NoError(t, err)
		require.Equal(t, []runtime.StartResult{{
			Container: "main", Reason: "CreateContainerConfigError",
			Message: "env PASSWORD: Secret default/db: this runtime has no source of Secrets",
		}}, res.Containers)
		require.False(t, n.settle(pod).Acted)
	})
}

func TestVolumeThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		pod := newPod("web", container("main"))
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{}}}}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
		const why = `MountVolume.SetUp failed for volume "data" : volumes of kind nfs are not supported`
		for range 3 {
			res, err := n.sync(pod)
			require.EqualError(t, err, "sync pod web_default(uid-web): "+why)
			require.Equal(t, []runtime.StartResult{{Container: "main", Reason: "CreateContainerConfigError", Message: why}}, res.Containers)
		}
		require.Equal(t, []string{"Warning FailedMount : " + why}, n.events.take(), "said once, then at a falling rate")
		require.Empty(t, n.status(pod).Sandboxes)
	})
}

// A path of megabytes must not be in the status of each of a thousand containers.
func TestFailuresAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		long := strings.Repeat("ä", 1<<20)
		pod := newPod("web", container("main"), container("other"))
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			HostPath: &v1.HostPathVolumeSource{Path: "/" + long, Type: new(v1.HostPathDirectory)},
		}}}
		for i := range pod.Spec.Containers {
			pod.Spec.Containers[i].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}
		res, err := n.sync(pod)
		require.Error(t, err)
		require.Len(t, res.Containers, 2)
		for _, c := range res.Containers {
			require.Less(t, len(c.Message), 5<<10)
			require.True(t, utf8.ValidString(c.Message))
			require.Contains(t, c.Message, `volume "data"`)
		}
		events := n.events.take()
		require.Len(t, events, 1)
		require.Less(t, len(events[0]), 5<<10)
	})
}

func TestSandboxThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(nil)
		f.createSandbox = func(runtime.SandboxConfig) error { return errors.New("no network") }
		n := newNode(t, nil, podruntime.Config{Backend: f})
		pod := newPod("web", container("main"))
		_, err := n.sync(pod)
		require.ErrorContains(t, err, "sync pod web_default(uid-web): create sandbox: no network")
		require.Equal(t, []string{"Warning FailedCreatePodSandBox : Failed to create pod sandbox: no network"}, n.events.take())
	})
}

// A root that can't be written to is an error that names pod and path, and
// harms no other pod.
func TestRootThatCannotBeWritten(t *testing.T) {
	root := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(root, nil, 0o600))
	n := newNode(t, nil, podruntime.Config{Root: root})
	_, err := n.sync(newPod("web", container("main")))
	require.ErrorContains(t, err, "sync pod web_default(uid-web): create sandbox: mkdir "+root)
	require.ErrorContains(t, err, "not a directory")
}

func TestHostilePodNames(t *testing.T) {
	n := newNode(t, nil, podruntime.Config{})
	pod := newPod("web", container("main"))
	pod.UID = "../../escape"
	_, err := n.sync(pod)
	require.ErrorContains(t, err, "can't name a file")
	require.Error(t, n.RemovePod(t.Context(), pod.UID))
	require.Error(t, n.RemoveVolumes(t.Context(), ".."))
	_, err = n.SyncPod(t.Context(), runtime.SyncRequest{})
	require.Error(t, err)

	odd := newPod("odd", container("../x"))
	res, err := n.sync(odd)
	require.NoError(t, err)
	require.Equal(t, "CreateContainerConfigError", res.Containers[0].Reason)
}

func TestPostStartHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(nil)
		f.exec = func(ctx context.Context, _ string, command []string) (int, error) {
			if command[0] == "hang" {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 7, nil
		}
		n := newNode(t, nil, podruntime.Config{Backend: f, PostStartTimeout: time.Minute})
		pod := newPod("web", container("fails"), container("hangs"), container("fine"))
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: execHook("fail")}
		pod.Spec.Containers[1].Lifecycle = &v1.Lifecycle{PostStart: execHook("hang")}
		pod.Spec.Containers[2].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 5}}}
		begin := time.Now()
		res, err := n.sync(pod)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(begin), "a hook that hangs is bounded")
		require.Equal(t, []runtime.StartResult{
			{Container: "fails", Reason: "PostStartHookError", Message: "PostStartHook failed"},
			{Container: "hangs", Reason: "PostStartHookError", Message: "PostStartHook failed"},
			{Container: "fine"},
		}, res.Containers)
		require.Equal(t, map[string]string{"fails": "exited #0", "hangs": "exited #0", "fine": "running #0"}, n.states(pod))
		require.Contains(t, n.events.take(), "Warning FailedPostStartHook spec.containers{fails}: PostStartHook failed")
	})
}

// An exit that restarts the whole pod removes all instances, keeps their logs and
// the sandbox, and goes on with the counts.
func TestRestartAllContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{
			"setup": {Exits: true, Output: "setup\n"},
			"main":  {Exits: true, RunFor: time.Minute, ExitCode: 42, Output: "main\n"},
			"other": stubborn,
		}, podruntime.Config{})
		never := v1.ContainerRestartPolicyNever
		pod := newPod("web", container("main"), container("other"))
		pod.Spec.InitContainers = []v1.Container{container("setup")}
		pod.Spec.Containers[0].RestartPolicy = &never
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
		n.settle(pod)
		sandbox := n.status(pod).Sandboxes[0].ID
		n.events.take()
		time.Sleep(time.Minute + time.Second)
		require.True(t, runtime.RestartAllTriggered(pod, n.status(pod)))

		begin := time.Now()
		res, err := n.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod, Status: n.status(pod), RestartAll: true})
		require.NoError(t, err)
		require.True(t, res.Acted)
		require.Equal(t, runtime.MinGrace, time.Since(begin))
		require.Equal(t, []string{"Normal Killing spec.containers{other}: killing"}, n.events.take())
		require.Empty(t, n.states(pod))

		n.settle(pod)
		require.Equal(t, "running #1", n.states(pod)["other"])
		require.Equal(t, sandbox, n.status(pod).Sandboxes[0].ID)
		require.FileExists(t, filepath.Join(n.root, "logs/default_web_uid-web/main/0.log"))
	})
}

// What a backend is told of a container is resolved: nothing refers to the pod.
func TestContainerConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(nil)
		n := newNode(t, nil, podruntime.Config{Backend: f})
		pod := newPod("web", container("main"))
		user := int64(1000)
		pod.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: &user}
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		pod.Spec.Containers[0] = v1.Container{
			Name: "main", Image: "img", Command: []string{"serve", "$(IP)"}, TerminationMessagePath: "/dev/termination-log",
			Env:          []v1.EnvVar{{Name: "IP", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
			VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data", ReadOnly: true}},
			Lifecycle:    &v1.Lifecycle{PreStop: execHook("bye")},
		}
		n.settle(pod)
		cfg := f.configs["main/0"]
		ip := n.status(pod).IPs[0]
		require.Equal(t, []string{"serve", ip}, cfg.Command)
		require.Equal(t, []runtime.EnvVar{{Name: "IP", Value: ip}}, cfg.Env)
		require.Equal(t, filepath.Join(n.root, "logs/default_web_uid-web/main/0.log"), cfg.LogPath)
		require.Equal(t, []runtime.Mount{
			{Name: "data", HostPath: filepath.Join(n.root, "pods/uid-web/volumes/data"), ContainerPath: "/data", ReadOnly: true},
			{Name: "termination-log", HostPath: filepath.Join(n.root, "pods/uid-web/containers/main/0.message"), ContainerPath: "/dev/termination-log"},
		}, cfg.Mounts)
		require.Equal(t, &user, cfg.SecurityContext.RunAsUser)
		require.Equal(t, map[string]string{
			"kubeparts.io/owner": "kubeparts", "io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default",
			"io.kubernetes.pod.uid": "uid-web", "io.kubernetes.container.name": "main",
		}, cfg.Labels)
		require.Equal(t, "30", cfg.Annotations["io.kubernetes.pod.terminationGracePeriod"])
		require.Equal(t, `{"exec":{"command":["bye"]}}`, cfg.Annotations["io.kubernetes.container.preStopHandler"])
		require.Equal(t, "0", cfg.Annotations["io.kubernetes.container.restartCount"])
	})
}

// Cancelling a pass ends what it waits for, and starts nothing further.
func TestCancelledPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"slow": {StartDelay: time.Hour}}, podruntime.Config{})
		pod := newPod("web", container("slow"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := n.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: n.status(pod)})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, n.states(pod)["slow"], "running")
		for _, e := range n.events.take() {
			require.NotContains(t, e, "Warning")
		}
	})
}
