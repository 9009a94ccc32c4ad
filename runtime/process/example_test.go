//go:build linux

package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

// A container is a process of the machine. Its log is in the CRI's format.
func Example() {
	dir, _ := os.MkdirTemp("", "process")
	defer os.RemoveAll(dir)
	ctx := context.Background()

	backend, err := process.New(process.Config{Root: filepath.Join(dir, "root")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer backend.Close()

	sandbox, _ := backend.CreateSandbox(ctx, runtime.SandboxConfig{PodRef: runtime.PodRef{UID: "42", Namespace: "default", Name: "hello"}})
	defer func() { _ = backend.RemoveSandbox(ctx, sandbox) }()
	container, _ := backend.CreateContainer(ctx, sandbox, runtime.ContainerConfig{
		Name:    "main",
		Command: []string{"/bin/sh", "-c", `echo "$GREETING, $0"; exec sleep 1000000`, "process"},
		Env:     []runtime.EnvVar{{Name: "GREETING", Value: "hello"}},
		LogPath: filepath.Join(dir, "0.log"),
	})
	_ = backend.StartContainer(ctx, container)
	code, err := backend.Exec(ctx, container, []string{"sh", "-c", `until test -s "$0"; do sleep 0.01; done`, filepath.Join(dir, "0.log")}, runtime.ExecIO{})
	fmt.Println(code, err)
	_ = backend.StopContainer(ctx, container, 30*time.Second)

	status, _ := backend.ContainerStatus(ctx, container)
	fmt.Println(status.State, status.ExitCode, status.Reason)
	log, _ := os.ReadFile(filepath.Join(dir, "0.log"))
	_, text, _ := strings.Cut(string(log), " ")
	fmt.Print(text)
	// Output:
	// 0 <nil>
	// exited 143 Error
	// stdout F hello, process
}

// A pod that relies on what local processes can't have is rejected by its
// fields, before it runs.
func ExampleCheck() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name:            "web",
		Image:           "nginx",
		SecurityContext: &v1.SecurityContext{ReadOnlyRootFilesystem: new(true)},
	}}}}
	for _, err := range process.Check(pod, process.Self()) {
		fmt.Println(err)
	}
	fmt.Println("ignored:", process.Ignored(pod))
	// Output:
	// spec.containers[0].command: Required value: a local process has no image to take its command from
	// spec.containers[0].securityContext.readOnlyRootFilesystem: Forbidden: local processes share the machine's files
	// ignored: [containers.image]
}

// Two pods with a server on the same port can't both run: admission counts
// container ports as ports of the machine.
func ExampleHostPorts() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "web", Ports: []v1.ContainerPort{{ContainerPort: 8080}},
	}}}}
	for _, port := range process.HostPorts(pod) {
		fmt.Println(port.HostPort)
	}
	// Output: 8080
}
