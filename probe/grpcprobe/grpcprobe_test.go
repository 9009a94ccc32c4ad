package grpcprobe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/grpcprobe"
	"github.com/kubeparts/kubeparts/probe/probetest"
)

func init() { grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) }

// server answers like one of a recording.
type server struct {
	grpc_health_v1.UnimplementedHealthServer
	Kind   string `json:"server"`
	Status string `json:"status"`
	Code   string `json:"code"`
	agent  atomic.Value
}

func (s *server) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		s.agent.Store(strings.Join(md["user-agent"], ","))
	}
	switch s.Kind {
	case "slow": // slower than any timeout
		<-ctx.Done()
		return nil, ctx.Err()
	case "error":
		var code codes.Code
		if err := code.UnmarshalJSON([]byte(`"` + s.Code + `"`)); err != nil {
			return nil, err
		}
		return nil, status.Error(code, "because gone")
	}
	value := grpc_health_v1.HealthCheckResponse_ServingStatus_value[s.Status]
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_ServingStatus(value)}, nil
}

// start serves until the test ends and returns where.
func start(t *testing.T, s *server) probe.Target {
	if s.Kind == "closed" {
		return targetAt(1, "") // nobody serves that, and nobody is given it who asks for any port
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	switch s.Kind {
	case "raw":
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n")
				conn.Close()
			}
		}()
	default:
		g := grpc.NewServer()
		if s.Kind != "no-health" {
			grpc_health_v1.RegisterHealthServer(g, s)
		}
		go g.Serve(l)
		t.Cleanup(g.Stop)
	}
	return targetAt(l.Addr().(*net.TCPAddr).Port, "")
}

func targetAt(port int, service string) probe.Target {
	return probe.Target{IP: "127.0.0.1", Action: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: int32(port), Service: &service}}}
}

// TestKubeletParity replays what the kubelet's gRPC prober said.
// KUBEPARTS_CORPUS names a folder of further recordings.
func TestKubeletParity(t *testing.T) {
	recordings.Replay(t, "grpcprobe", func(t *testing.T, line []byte) (a recordings.Answer) {
		var c struct {
			Service   string `json:"service"`
			TimeoutMS int    `json:"timeout_ms"`
			server
			Want struct {
				Result probe.Result `json:"result"`
				Output string       `json:"output"`
			} `json:"want"`
		}
		require.NoError(t, json.Unmarshal(line, &c))
		target := start(t, &c.server)
		target.Action.GRPC.Service = &c.Service
		// What a busy machine does not do in 200 ms says nothing of a prober: it
		// gets ten and a hundred times as long before that counts.
		for _, slowness := range []time.Duration{1, 10, 100} {
			recorded := time.Duration(c.TimeoutMS) * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), slowness*recorded)
			r, err := new(grpcprobe.Prober).Probe(ctx, target)
			cancel()
			want := strings.NewReplacer("{GRPC}", fmt.Sprint(target.Action.GRPC.Port),
				recorded.String(), (slowness * recorded).String()).Replace(c.Want.Output)
			a = recordings.Answer{
				Agrees: err == nil && r.Result == c.Want.Result && r.Output == want,
				Want:   fmt.Sprintf("%s %q", c.Want.Result, want), Got: fmt.Sprintf("%s %q %v", r.Result, r.Output, err),
			}
			if a.Agrees {
				break
			}
		}
		return a
	})
}

func TestProberKeepsTheRules(t *testing.T) {
	healthy := start(t, &server{Status: "SERVING"})
	sick := start(t, &server{Status: "NOT_SERVING"})
	hanging := start(t, &server{Kind: "slow"})
	absent := targetAt(0, "")
	probetest.TestProber(t, new(grpcprobe.Prober), probetest.Targets{
		Healthy: &healthy, Sick: &sick, Hanging: &hanging, Absent: &absent,
	})
}

func TestBadTargets(t *testing.T) {
	for name, target := range map[string]probe.Target{
		"no grpc in the probe's action": {IP: "127.0.0.1"},
		"invalid port number: 70000":    targetAt(70000, ""),
		"the pod has no IP address yet": {Action: targetAt(80, "").Action},
	} {
		_, err := new(grpcprobe.Prober).Probe(t.Context(), target)
		require.EqualError(t, err, name)
	}
}

func TestDialerThatIsBrokenEndsNothing(t *testing.T) {
	for name, dial := range map[string]dialerFunc{
		"panics":        func(context.Context, string, string) (net.Conn, error) { panic("oops") },
		"gives nothing": func(context.Context, string, string) (net.Conn, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			r, err := (&grpcprobe.Prober{Dialer: dial}).Probe(ctx, probe.Target{
				IP: "127.0.0.1", Action: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 1}},
			})
			require.NoError(t, err)
			require.Equal(t, probe.Failure, r.Result)
			require.Contains(t, r.Output, "timeout: failed to connect service ")
		})
	}
}

func TestUserAgentAndDialer(t *testing.T) {
	s := &server{Status: "SERVING"}
	target := start(t, s)
	dialed := ""
	p := &grpcprobe.Prober{Version: "2.7", Dialer: dialerFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = address
		return new(net.Dialer).DialContext(ctx, network, address)
	})}
	r, err := p.Probe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, probe.Response{Result: probe.Success, Output: "service healthy"}, r)
	require.Regexp(t, `^kube-probe/2\.7 `, s.agent.Load())
	require.Equal(t, fmt.Sprintf("127.0.0.1:%d", target.Action.GRPC.Port), dialed)
}

type dialerFunc func(ctx context.Context, network, address string) (net.Conn, error)

func (f dialerFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return f(ctx, network, address)
}

func ExampleProber() {
	probers := probe.Probers{GRPC: &grpcprobe.Prober{Version: "1.36"}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := probers.Probe(ctx, probe.Target{Container: "db", Action: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 5000}}})
	fmt.Println(err)
	// Output: the pod has no IP address yet
}
