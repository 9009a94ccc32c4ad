package process

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

var (
	root   = Agent{}
	nobody = Agent{UID: 65534, GID: 65533}
)

func podOf(c v1.Container, base *v1.PodSecurityContext) *v1.Pod {
	if c.Command == nil {
		c.Command = []string{"true"}
	}
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{c}, SecurityContext: base}}
}

func TestCheck(t *testing.T) {
	const (
		user  = "needs root's rights; the agent runs as user 65534, group 65533"
		where = "spec.containers[0].securityContext."
	)
	type want struct{ root, nobody string }
	both := func(text string) want { return want{text, text} }
	container := func(sc v1.SecurityContext) *v1.Pod { return podOf(v1.Container{SecurityContext: &sc}, nil) }
	pod := func(sc v1.PodSecurityContext) *v1.Pod { return podOf(v1.Container{}, &sc) }
	for name, tc := range map[string]struct {
		pod  *v1.Pod
		want want
	}{
		"plain": {podOf(v1.Container{}, nil), want{}},
		"no command": {podOf(v1.Container{Command: []string{}}, nil),
			both("spec.containers[0].command: Required value: a local process has no image to take its command from")},
		"an image's arguments": {podOf(v1.Container{Command: []string{}, Args: []string{"x"}}, nil),
			both("spec.containers[0].command: Required value: a local process has no image to take its command from")},
		"another user":       {container(v1.SecurityContext{RunAsUser: new(int64(1))}), want{nobody: where + "runAsUser: Forbidden: " + user}},
		"another group":      {container(v1.SecurityContext{RunAsGroup: new(int64(1))}), want{nobody: where + "runAsGroup: Forbidden: " + user}},
		"the agent's":        {container(v1.SecurityContext{RunAsUser: new(int64(65534)), RunAsGroup: new(int64(65533))}), want{}},
		"the pod's user":     {pod(v1.PodSecurityContext{RunAsUser: new(int64(1))}), want{nobody: where + "runAsUser: Forbidden: " + user}},
		"no such user":       {container(v1.SecurityContext{RunAsUser: new(int64(-1))}), both(where + "runAsUser: Invalid value: -1: no user has this number")},
		"groups":             {pod(v1.PodSecurityContext{SupplementalGroups: []int64{1}}), want{nobody: "spec.securityContext.supplementalGroups: Forbidden: " + user}},
		"group of files":     {pod(v1.PodSecurityContext{FSGroup: new(int64(1))}), want{nobody: "spec.securityContext.fsGroup: Forbidden: " + user}},
		"sysctls":            {pod(v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "a", Value: "1"}}}), both("spec.securityContext.sysctls: Forbidden: local processes share the machine's")},
		"not root":           {container(v1.SecurityContext{RunAsNonRoot: new(true)}), want{root: where + "runAsNonRoot: Forbidden: the process would run as root; set runAsUser"}},
		"privileged":         {container(v1.SecurityContext{Privileged: new(true)}), want{nobody: where + "privileged: Forbidden: only a process of root's is privileged"}},
		"read-only root":     {container(v1.SecurityContext{ReadOnlyRootFilesystem: new(true)}), both(where + "readOnlyRootFilesystem: Forbidden: local processes share the machine's files")},
		"capabilities":       {container(v1.SecurityContext{Capabilities: &v1.Capabilities{Add: []v1.Capability{"NET_ADMIN"}}}), want{nobody: where + "capabilities: Forbidden: only a process of root's has capabilities"}},
		"fewer capabilities": {container(v1.SecurityContext{Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}}}), want{root: where + "capabilities: Forbidden: a process of root's keeps its capabilities; set runAsUser"}},
		"seccomp":            {pod(v1.PodSecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}}), both(where + "seccompProfile: Forbidden: local processes run unconfined")},
		"unconfined": {container(v1.SecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined},
			AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}, SELinuxOptions: &v1.SELinuxOptions{}}), want{}},
		"apparmor":       {container(v1.SecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}}), both(where + "appArmorProfile: Forbidden: local processes run unconfined")},
		"selinux":        {container(v1.SecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: "s0"}}), both(where + "seLinuxOptions: Forbidden: local processes run unconfined")},
		"proc":           {container(v1.SecurityContext{ProcMount: new(v1.UnmaskedProcMount)}), both(where + "procMount: Forbidden: local processes share the machine's /proc")},
		"devices":        {podOf(v1.Container{VolumeDevices: []v1.VolumeDevice{{}}}, nil), both("spec.containers[0].volumeDevices: Forbidden: local processes get no devices")},
		"stop signal":    {podOf(v1.Container{Lifecycle: &v1.Lifecycle{StopSignal: new(v1.Signal("SIGFOO"))}}, nil), both(`spec.containers[0].lifecycle.stopSignal: Invalid value: "SIGFOO": unknown signal`)},
		"user namespace": {&v1.Pod{Spec: v1.PodSpec{HostUsers: new(false)}}, both("spec.hostUsers: Forbidden: local processes have no user namespace")},
		"init container": {&v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{}}}},
			both("spec.initContainers[0].command: Required value: a local process has no image to take its command from")},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.pod.DeepCopy()
			for agent, want := range map[Agent]string{root: tc.want.root, nobody: tc.want.nobody} {
				if errs := Check(tc.pod, agent); want == "" {
					require.Empty(t, errs, agent)
				} else {
					require.EqualError(t, errs.ToAggregate(), want, agent)
				}
			}
			require.Equal(t, before, tc.pod)
		})
	}
}

func TestIgnored(t *testing.T) {
	pod := podOf(v1.Container{Image: "nginx", TTY: true, VolumeMounts: []v1.VolumeMount{{ReadOnly: true}}}, nil)
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Image: "redis"})
	pod.Spec.Hostname = "web"
	require.Equal(t, []string{"containers.image", "containers.tty", "containers.volumeMounts.mountPath",
		"containers.volumeMounts.readOnly", "hostname"}, Ignored(pod))
	require.Empty(t, Ignored(podOf(v1.Container{}, nil)))
}

func TestHostPorts(t *testing.T) {
	pod := podOf(v1.Container{Ports: []v1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 53, Protocol: v1.ProtocolUDP}}}, nil)
	pod.Spec.InitContainers = []v1.Container{
		{Ports: []v1.ContainerPort{{ContainerPort: 1}}},
		{Ports: []v1.ContainerPort{{ContainerPort: 2, HostPort: 3}}, RestartPolicy: new(v1.ContainerRestartPolicyAlways)},
	}
	before := pod.DeepCopy()
	require.Equal(t, []v1.ContainerPort{
		{ContainerPort: 2, HostPort: 2}, {ContainerPort: 80, HostPort: 80}, {ContainerPort: 53, HostPort: 53, Protocol: v1.ProtocolUDP},
	}, HostPorts(pod))
	require.Equal(t, before, pod)
}

func TestEnviron(t *testing.T) {
	got := environ(&runtime.ContainerConfig{
		Env: []runtime.EnvVar{{Name: "A", Value: "x=y"}, {Name: "KUBEPARTS_MOUNT_MINE", Value: "my own"}},
		Mounts: []runtime.Mount{
			{Name: "data", HostPath: "/v/data"}, {Name: "data", HostPath: "/v/data"}, {Name: "data", HostPath: "/v/data/sub"},
			{Name: "my-vol.1", HostPath: "/v/1"}, {Name: "mine", HostPath: "/v/2"},
		},
	}, "/home")
	require.Equal(t, []string{
		"A=x=y", "KUBEPARTS_MOUNT_MINE=my own", "PATH=" + DefaultPath, "HOME=/home",
		"KUBEPARTS_MOUNT_DATA=/v/data", "KUBEPARTS_MOUNT_DATA_2=/v/data/sub", "KUBEPARTS_MOUNT_MY_VOL_1=/v/1",
	}, got)
	got = environ(&runtime.ContainerConfig{Env: []runtime.EnvVar{{Name: "PATH"}, {Name: "HOME", Value: "/root"}}}, "/home")
	require.Equal(t, []string{"PATH=", "HOME=/root"}, got)
}
