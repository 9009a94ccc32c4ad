package grpcprobe_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/grpcprobe"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/process"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// beHealthServer makes the test binary a gRPC health server at an address. It serves
// as long as there is no file of the name of beSick in its folder.
const (
	beHealthServer = "GRPCPROBE_TEST_SERVES_AT"
	beSick         = "sick"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(beHealthServer); addr != "" {
		serveHealth(addr)
	}
	os.Exit(m.Run())
}

func serveHealth(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server, state := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, state)
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(os.Getenv("KUBEPARTS_MOUNT_STATE"), beSick)); err == nil {
				state.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
			}
		}
	}()
	_ = server.Serve(l)
	os.Exit(1)
}

// A process that serves the gRPC health protocol is probed as a container of a node
// agent: it becomes ready, turns unhealthy, is restarted, and is ready again.
func TestHealthServerInAProcess(t *testing.T) {
	root := t.TempDir()
	// The address is one that only this test has, so that no port is taken.
	addr, port := fmt.Sprintf("127.%d.%d.7", os.Getpid()>>8&0x7f+1, os.Getpid()&0xff), int32(8004)
	backend, err := process.New(process.Config{Root: filepath.Join(root, "process"), NodeIP: addr})
	require.NoError(t, err)
	defer func() { require.NoError(t, backend.Close()) }()
	events := &synclooptest.Events{}
	rt, err := podruntime.New(podruntime.Config{Backend: backend, Root: root, NodeName: "node", HostIPs: []string{addr}, Events: events})
	require.NoError(t, err)
	probes, err := probe.NewManager(probe.Config{Prober: probe.Probers{GRPC: &grpcprobe.Prober{}}})
	require.NoError(t, err)
	var sink synclooptest.Sink
	updates := make(chan podmanager.Update, 1)
	loop, err := syncloop.New(syncloop.Config{
		Updates: updates, Sink: &sink, Probes: probes, Runtime: rt, RuntimeName: process.Name, Events: events, HostIPs: []string{addr},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- probes.Run(ctx) }()
	go func() { ended <- loop.Run(ctx) }()
	defer func() {
		require.NoError(t, loop.Shutdown(context.Background(), syncloop.ShutdownOptions{Remove: true}))
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
	}()

	asks := func(threshold int32) *v1.Probe {
		return &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port}},
			PeriodSeconds: 1, TimeoutSeconds: 30, FailureThreshold: threshold,
		}
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "uid", Namespace: "default", Name: "served"},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []v1.Container{{
				Name: "c", Image: "local", Command: []string{os.Args[0]},
				Env:          []v1.EnvVar{{Name: beHealthServer, Value: fmt.Sprintf("%s:%d", addr, port)}},
				VolumeMounts: []v1.VolumeMount{{Name: "state", MountPath: "/state"}},
				StartupProbe: asks(100), ReadinessProbe: asks(1), LivenessProbe: asks(2),
			}},
			Volumes: []v1.Volume{{Name: "state", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
		},
	}
	updates <- podmanager.Update{Source: "test", Op: podmanager.OpAdd, Pods: []*v1.Pod{pod}}
	until := func(what string, ok func(v1.ContainerStatus) bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			s := sink.Status(pod.UID)
			return len(s.ContainerStatuses) == 1 && ok(s.ContainerStatuses[0])
		}, 2*time.Minute, 10*time.Millisecond, what)
	}
	until("is ready", func(c v1.ContainerStatus) bool { return c.Ready && c.RestartCount == 0 })
	file := filepath.Join(root, "pods", string(pod.UID), "volumes", "state", beSick)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	until("is not ready", func(c v1.ContainerStatus) bool { return !c.Ready })
	require.NoError(t, os.Remove(file))
	until("was restarted and is ready", func(c v1.ContainerStatus) bool { return c.Ready && c.RestartCount > 0 })
	require.NotEmpty(t, events.With("Container c failed liveness probe, will be restarted"))
}
