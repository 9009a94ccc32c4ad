//go:build linux

package probe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/probe"
)

// A TCP probe says nothing and does not listen.
func TestTCPOnlyConnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	said := make(chan []byte, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		data, _ := io.ReadAll(conn)
		said <- data
	}()
	target := asTCP(get(l.Addr().(*net.TCPAddr).Port))
	r, err := new(probe.TCP).Probe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, probe.Response{Result: probe.Success}, r)
	require.Empty(t, <-said)
}

// A closed connection lingers for a second, and not for a minute.
func TestConnectionsLingerShortly(t *testing.T) {
	conn, err := probe.PlainDialer().DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", portText(serve(t, says("")))))
	require.NoError(t, err)
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var linger int
	require.NoError(t, raw.Control(func(fd uintptr) {
		linger, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER)
	}))
	require.NoError(t, err)
	require.Equal(t, 1, linger, "it is on")
}

// An event of the same failure is the same, though each attempt comes from another
// port.
func TestSameFailureSaysTheSame(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 1))
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()
	target := get(l.Addr().(*net.TCPAddr).Port)
	for _, scheme := range []v1.URIScheme{v1.URISchemeHTTP, v1.URISchemeHTTPS} {
		target.Action.HTTPGet.Scheme = scheme
		said := map[string]bool{}
		for range 5 {
			r, err := new(probe.HTTP).Probe(t.Context(), target)
			require.NoError(t, err)
			require.Contains(t, r.Output, "connection reset by peer")
			said[r.Output] = true
		}
		require.Len(t, said, 1)
	}
}

// A lookup of the system's can't be called off.
func TestNamesAreLookedUpByGo(t *testing.T) {
	require.True(t, probe.PlainDialer().(*net.Dialer).Resolver.PreferGo)
	r, err := new(probe.TCP).Probe(t.Context(), probe.Target{Action: v1.ProbeHandler{
		TCPSocket: &v1.TCPSocketAction{Host: "localhost", Port: intstr.FromInt(serve(t, says("")))},
	}})
	require.NoError(t, err)
	require.Equal(t, probe.Response{Result: probe.Success}, r)
}

func portText(port int) string { p := intstr.FromInt(port); return p.String() }

// Host before pod address, both IPv6 or not.
func TestTCPGoesWhereItIsTold(t *testing.T) {
	web := []v1.ContainerPort{{Name: "web", ContainerPort: 8080}}
	for want, c := range map[string]struct{ ip, host, port string }{
		"10.0.0.1:8080":       {"10.0.0.1", "", "web"},
		"[fd00::1]:8080":      {"fd00::1", "", "web"},
		"[fe80::1%eth0]:8080": {"10.0.0.1", "fe80::1%eth0", "web"},
		"example.com:90":      {"10.0.0.1", "example.com", "90"},
	} {
		dialled := ""
		d := dialer(func(_ context.Context, address string) (net.Conn, error) {
			dialled = address
			return nil, errors.New("no")
		})
		r, err := (&probe.TCP{Dialer: d}).Probe(t.Context(), probe.Target{IP: c.ip, Ports: web, Action: v1.ProbeHandler{
			TCPSocket: &v1.TCPSocketAction{Host: c.host, Port: intstr.FromString(c.port)},
		}})
		require.NoError(t, err)
		require.Equal(t, probe.Response{Result: probe.Failure, Output: "no"}, r)
		require.Equal(t, want, dialled)
	}
}

// A host that makes no address fails as with the plain dialer, and a dialer of the
// host program's, which may take the address apart unasked, never sees it.
// A pod whose probes take all descriptors is not to have others restarted.
func TestAgentWithoutDescriptorsBlamesNobody(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		d := dialer(func(context.Context, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}
		})
		r, err := (&probe.TCP{Dialer: d}).Probe(t.Context(), asTCP(get(80)))
		require.ErrorIs(t, err, errno)
		require.Equal(t, probe.Unknown, r.Result)
		r, err = (&probe.HTTP{Dialer: d}).Probe(t.Context(), get(80))
		require.ErrorIs(t, err, errno)
		require.Equal(t, probe.Unknown, r.Result)
	}
}

func TestDialerThatGivesNothing(t *testing.T) {
	d := dialer(func(context.Context, string) (net.Conn, error) { return nil, nil })
	failed := "the dialer gave neither a connection nor an error"
	r, err := (&probe.TCP{Dialer: d}).Probe(t.Context(), asTCP(get(80)))
	require.NoError(t, err)
	require.Equal(t, probe.Response{Result: probe.Failure, Output: failed}, r)
	r, err = (&probe.HTTP{Dialer: d}).Probe(t.Context(), get(80))
	require.NoError(t, err)
	require.Equal(t, probe.Response{Result: probe.Failure, Output: `Get "http://127.0.0.1:80": ` + failed}, r)
}

func TestNoAddressReachesNoDialer(t *testing.T) {
	target := probe.Target{IP: "10.0.0.1", Action: v1.ProbeHandler{
		TCPSocket: &v1.TCPSocketAction{Host: "]", Port: intstr.FromInt(8080)},
	}}
	plain, err := new(probe.TCP).Probe(t.Context(), target)
	require.NoError(t, err)
	own, err := (&probe.TCP{Dialer: dialer(func(context.Context, string) (net.Conn, error) {
		t.Error("dialled")
		return nil, errors.New("no")
	})}).Probe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, plain, own)
	require.Equal(t, probe.Response{Result: probe.Failure, Output: "dial tcp: address ]:8080: unexpected ']' in address"}, own)
}

// A server that takes no connection: its queue is full, and nobody accepts.
func TestServerThatDoesNotAccept(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	target := asTCP(get(name.(*syscall.SockaddrInet4).Port))
	full := false
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		r, err := new(probe.TCP).Probe(ctx, target)
		cancel()
		require.NoError(t, err)
		require.Less(t, time.Since(began), 30*time.Second)
		if full = r.Result == probe.Failure; full {
			require.Contains(t, r.Output, "i/o timeout")
			break
		}
	}
	require.True(t, full)
}
