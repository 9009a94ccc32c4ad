package grpcprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/kubeparts/kubeparts/probe"
)

// Prober asks the health service of a container, at its pod's address and over a
// plain connection of its own: SERVING is Success and all else Failure, a
// connection that can't be made too. The zero value works.
type Prober struct {
	// Version is that of "kube-probe/<Version>", which User-Agent begins with,
	// as in [probe.HTTP].
	Version string
	// Dialer makes the connections; nil is a plain one.
	Dialer probe.Dialer
}

// answerLimit bounds the health service's answer, which is two bytes long, its
// headers, and what is taken in before it is asked for.
const answerLimit = 64 << 10

// Probe implements [probe.Prober] for actions with GRPC set. A context that is
// cancelled, unlike one whose time is up, gives an error.
func (p *Prober) Probe(ctx context.Context, target probe.Target) (probe.Response, error) {
	action := target.Action.GRPC
	unknown := probe.Response{Result: probe.Unknown}
	switch {
	case action == nil:
		return unknown, errors.New("no grpc in the probe's action")
	case action.Port < 1 || action.Port > 65535:
		return unknown, fmt.Errorf("invalid port number: %d", action.Port)
	case target.IP == "":
		return unknown, errors.New("the pod has no IP address yet")
	case errors.Is(ctx.Err(), context.Canceled):
		return unknown, ctx.Err()
	}
	service := ""
	if action.Service != nil {
		service = *action.Service
	}
	answer, err := p.check(ctx, net.JoinHostPort(target.IP, strconv.Itoa(int(action.Port))), service)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return unknown, ctx.Err()
	}
	if err != nil {
		return cut(probe.Failure, err.Error()), nil
	}
	if answer != grpc_health_v1.HealthCheckResponse_SERVING {
		return cut(probe.Failure, fmt.Sprintf("service unhealthy (responded with %q)", answer)), nil
	}
	return cut(probe.Success, "service healthy"), nil
}

func cut(r probe.Result, output string) probe.Response {
	return probe.Response{Result: r, Output: output[:min(len(output), probe.OutputLimit)]}
}

// check connects and asks.
func (p *Prober) check(ctx context.Context, address, service string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	timeout := timeoutOf(ctx)
	conn, err := p.connect(ctx, address)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return 0, fmt.Errorf("timeout: failed to connect service %q within %s: %w", address, timeout, err)
	case err != nil:
		return 0, fmt.Errorf("error: failed to connect service at %q: %w", address, err)
	}
	defer conn.Close()
	res, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
	if err == nil {
		return res.GetStatus(), nil
	}
	switch s := status.Convert(err); s.Code() {
	case codes.Unimplemented:
		return 0, fmt.Errorf("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s", s.Message())
	case codes.DeadlineExceeded:
		return 0, fmt.Errorf("timeout: health rpc did not complete within %s", timeout)
	}
	return 0, fmt.Errorf("error: health rpc probe failed: %w", err)
}

// connect waits until a connection stands, or time is up: a port that is closed
// may open until then.
func (p *Prober) connect(ctx context.Context, address string) (*grpc.ClientConn, error) {
	dialer := p.Dialer
	if dialer == nil {
		dialer = probe.PlainDialer()
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUserAgent(probe.UserAgent(p.Version)),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second}}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerLimit)),
		grpc.WithMaxHeaderListSize(answerLimit),
		grpc.WithStaticStreamWindowSize(answerLimit),
		grpc.WithStaticConnWindowSize(answerLimit),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, dialer, address) }),
	)
	if err != nil {
		return nil, err
	}
	conn.Connect()
	for s := conn.GetState(); s != connectivity.Ready; s = conn.GetState() {
		if s == connectivity.Idle {
			conn.Connect()
		}
		if !conn.WaitForStateChange(ctx, s) {
			conn.Close()
			return nil, ctx.Err()
		}
	}
	return conn, nil
}

// dial is called on a goroutine of grpc: what a dialer does wrong there would end the
// program.
func dial(ctx context.Context, dialer probe.Dialer, address string) (conn net.Conn, err error) {
	defer func() {
		if p := recover(); p != nil {
			conn, err = nil, fmt.Errorf("the dialer panicked: %v", p)
		}
	}()
	conn, err = dialer.DialContext(ctx, "tcp", address)
	if err == nil && conn == nil {
		err = errors.New("the dialer gave neither a connection nor an error")
	}
	return conn, err
}

// timeoutOf is what is left of the context, for people: rounded so that it is the
// same each time.
func timeoutOf(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	left := time.Until(deadline).Round(10 * time.Millisecond)
	if left > time.Second/2 {
		return left.Round(time.Second / 10)
	}
	return left
}
