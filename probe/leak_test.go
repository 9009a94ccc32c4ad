package probe_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
)

// The real probers, each in the midst of a server that does not end: a stop takes no
// time, and no goroutine stays.
func TestNothingIsLeftAfterAStop(t *testing.T) {
	hang := func(ctx context.Context, _ net.Conn) { <-ctx.Done() }
	second := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	second.EnableHTTP2 = true
	second.StartTLS()
	t.Cleanup(second.Close)
	h2 := get(second.Listener.Addr().(*net.TCPAddr).Port)
	h2.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
	handshake := get(serve(t, hang))
	handshake.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
	targets := map[string]probe.Target{
		"header":    get(serve(t, hang)),
		"body":      get(serve(t, drips("HTTP/1.1 200 OK\r\n\r\n"))),
		"flood":     get(serve(t, endlessly("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"))),
		"tls":       serveTLS(t, nil, func(ctx context.Context, _ *tls.Conn) { <-ctx.Done() }),
		"http2":     h2,
		"handshake": handshake,
	}
	m, err := probe.NewManager(probe.Config{Prober: probe.Probers{}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	for name, target := range targets {
		p := named(probe.Readiness, probe.Settings{Timeout: time.Hour})
		p.Action = target.Action
		for _, n := range "123" {
			m.Set(ref(name+string(n)), probe.Container{Name: "app", IP: target.IP, State: running("1"), Probes: []probe.Probe{p}})
		}
	}
	require.Eventually(t, func() bool { return m.Stats().InFlight >= 3*len(targets)-3 }, 5*time.Minute, time.Millisecond)
	stop()
	<-done
	require.Zero(t, m.Stats().InFlight)
	stacks := make([]byte, 1<<20)
	left := func() bool {
		text := string(stacks[:goruntime.Stack(stacks, true)])
		return strings.Contains(text, "kubeparts/probe.(*") || strings.Contains(text, "http.(*persistConn)") || strings.Contains(text, "ClientConn).readLoop")
	}
	require.Eventually(t, func() bool { return !left() }, 5*time.Minute, 10*time.Millisecond)
}
