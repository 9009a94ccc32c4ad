package grpcprobe_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/grpcprobe"
)

// handled serves every call with the handler.
func handled(handler func(stream grpc.ServerStream) error) func(t *testing.T, l net.Listener) {
	return func(t *testing.T, l net.Listener) {
		g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return handler(stream) }))
		go g.Serve(l)
		t.Cleanup(g.Stop)
	}
}

// raw serves every connection with the bytes, and then does nothing.
func raw(piece string, times int) func(t *testing.T, l net.Listener) {
	return func(t *testing.T, l net.Listener) {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					for range times {
						if _, err := io.WriteString(conn, piece); err != nil {
							return
						}
					}
					io.Copy(io.Discard, conn)
				}()
			}
		}()
	}
}

func serving(s grpc_health_v1.HealthCheckResponse_ServingStatus) *grpc_health_v1.HealthCheckResponse {
	return &grpc_health_v1.HealthCheckResponse{Status: s}
}

// Servers that lie, stream and hang: none is taken for healthy, and none takes
// longer than the timeout, or more than a little memory.
func TestHostileServers(t *testing.T) {
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, c := range map[string]struct {
		serve  func(t *testing.T, l net.Listener)
		output string
	}{
		"says nothing":              {raw("", 0), "timeout: "},
		"greets and says nothing":   {raw(settings, 1), "timeout: "},
		"greets for ever":           {raw(settings, 1<<30), ""},
		"is another server":         {raw("HTTP/1.1 400 Bad Request\r\n\r\n", 1), "timeout: "},
		"a frame of 16 MB":          {raw("\xff\xff\xff\x04\x00\x00\x00\x00\x00", 1), "timeout: "},
		"header that does not end":  {raw(settings+strings.Repeat("\x00\x40\x00\x01\x00\x00\x00\x00\x01"+strings.Repeat("\x00", 1<<14), 2), 1<<20), ""},
		"status that is none":       {handled(func(s grpc.ServerStream) error { return s.SendMsg(serving(77)) }), `service unhealthy (responded with "77")`},
		"service that is not known": {handled(func(s grpc.ServerStream) error { return s.SendMsg(serving(3)) }), `service unhealthy (responded with "SERVICE_UNKNOWN")`},
		"no answer, but well":       {handled(func(grpc.ServerStream) error { return nil }), "error: health rpc probe failed"},
		"a stream of answers": {handled(func(s grpc.ServerStream) error {
			for s.SendMsg(serving(1)) == nil {
			}
			return nil
		}), "error: health rpc probe failed"},
		"an answer and then no end": {handled(func(s grpc.ServerStream) error {
			s.SendMsg(serving(1))
			<-s.Context().Done()
			return s.Context().Err() // nil would be an answer that is whole
		}), "timeout: "},
		"an answer of 10 MB": {handled(func(s grpc.ServerStream) error {
			return s.SendMsg(&grpc_health_v1.HealthCheckRequest{Service: strings.Repeat("x", 10<<20)})
		}), "received message larger than max"},
		"another message": {handled(func(s grpc.ServerStream) error {
			return s.SendMsg(&grpc_health_v1.HealthCheckRequest{Service: "x"})
		}), `service unhealthy (responded with "UNKNOWN")`},
		"much header": {handled(func(s grpc.ServerStream) error {
			for range 100 {
				s.SetHeader(metadata.Pairs("x", strings.Repeat("x", 10_000)))
			}
			return s.SendMsg(serving(1))
		}), "error: health rpc probe failed"},
		"much to say of an error": {handled(func(grpc.ServerStream) error {
			return status.Error(codes.Internal, strings.Repeat("\x1b[31m", 10_000))
		}), "error: health rpc probe failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			c.serve(t, l)
			timeout := time.Minute
			if strings.HasPrefix(c.output, "timeout") || c.output == "" {
				timeout = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			r, err := new(grpcprobe.Prober).Probe(ctx, targetAt(l.Addr().(*net.TCPAddr).Port, ""))
			require.NoError(t, err)
			require.Equal(t, probe.Failure, r.Result)
			require.Contains(t, r.Output, c.output)
			require.LessOrEqual(t, len(r.Output), probe.OutputLimit)
		})
	}
}
