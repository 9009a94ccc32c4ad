package grpcprobe_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/grpcprobe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// local is a runtime whose pods have the address of this machine.
type local struct{ runtime.Runtime }

func (l local) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	s, err := l.Runtime.PodStatus(ctx, uid)
	if s != nil && len(s.IPs) > 0 {
		s.IPs = []string{"127.0.0.1"}
	}
	return s, err
}

// A real health server is what a pod of a sync loop is judged by: ready while it
// serves, not ready when it does not, restarted when another service of it fails.
func TestPodIsJudgedByItsHealthServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, state := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, state)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	state.SetServingStatus("alive", grpc_health_v1.HealthCheckResponse_SERVING)

	port, alive := int32(l.Addr().(*net.TCPAddr).Port), "alive"
	asks := func(service *string) *v1.Probe {
		return &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port, Service: service}},
			PeriodSeconds: 1, TimeoutSeconds: 20, FailureThreshold: 1,
		}
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "uid", Namespace: "default", Name: "served"},
		Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{
			{Name: "c", Image: "image", ReadinessProbe: asks(nil), LivenessProbe: asks(&alive)},
		}},
	}
	var sink synclooptest.Sink
	updates := make(chan podmanager.Update, 1)
	probes, err := probe.NewManager(probe.Config{Prober: probe.Probers{GRPC: &grpcprobe.Prober{}}})
	require.NoError(t, err)
	loop, err := syncloop.New(syncloop.Config{
		Updates: updates, Sink: &sink, Probes: probes,
		Runtime: local{runtimetest.NewFake(runtimetest.FakeConfig{})},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- probes.Run(ctx) }()
	go func() { ended <- loop.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
	}()
	updates <- podmanager.Update{Source: "test", Op: podmanager.OpAdd, Pods: []*v1.Pod{pod}}

	until := func(what string, ok func(v1.ContainerStatus) bool) {
		require.Eventually(t, func() bool {
			s := sink.Status(pod.UID)
			return len(s.ContainerStatuses) == 1 && ok(s.ContainerStatuses[0])
		}, 5*time.Minute, 10*time.Millisecond, what)
	}
	until("ready", func(c v1.ContainerStatus) bool { return c.Ready })
	state.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	until("unready", func(c v1.ContainerStatus) bool { return !c.Ready && c.RestartCount == 0 })
	explained, ok := loop.Explain(pod.UID)
	require.True(t, ok)
	require.Contains(t, strings.Join(explained.Lines, "\n"), `service unhealthy (responded with "NOT_SERVING")`)
	state.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	until("ready again", func(c v1.ContainerStatus) bool { return c.Ready && c.RestartCount == 0 })
	state.SetServingStatus("alive", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	until("restarted", func(c v1.ContainerStatus) bool { return c.RestartCount > 0 })
}
