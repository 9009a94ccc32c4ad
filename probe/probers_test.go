package probe_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
	"github.com/kubeparts/kubeparts/runtime"
)

// serve runs a raw server, one call a connection, and returns its port.
func serve(t *testing.T, answer func(ctx context.Context, conn net.Conn)) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go handle(ctx, conn, answer)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func handle(ctx context.Context, conn net.Conn, answer func(context.Context, net.Conn)) {
	defer conn.Close()
	http.ReadRequest(bufio.NewReader(conn))
	answer(ctx, conn)
}

// answering is a dialer to such a server without a network, for bubbles: what a
// server sends in time does not depend on the machine. The server sees its
// context end with the probe's.
func answering(answer func(ctx context.Context, conn net.Conn)) probe.Dialer {
	return dialer(func(ctx context.Context, _ string) (net.Conn, error) {
		client, server := net.Pipe()
		go handle(ctx, server, answer)
		return client, nil
	})
}

func endlessly(head, piece string) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		io.WriteString(conn, head)
		for ctx.Err() == nil {
			if _, err := io.WriteString(conn, piece); err != nil {
				return
			}
		}
	}
}

func get(port int) probe.Target {
	return probe.Target{IP: "127.0.0.1", Action: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt(port)}}}
}

// closedPort is one that nobody serves, and that no client or server is given when
// it asks for any port.
const closedPort = 1

func TestProbersKeepTheRules(t *testing.T) {
	healthy := get(serve(t, func(_ context.Context, c net.Conn) { io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nok") }))
	sick := get(serve(t, func(_ context.Context, c net.Conn) { io.WriteString(c, "HTTP/1.0 500 No\r\n\r\n") }))
	hanging := get(serve(t, func(ctx context.Context, _ net.Conn) { <-ctx.Done() }))
	endless := get(serve(t, endlessly("HTTP/1.1 200 OK\r\n", "X-More: of the same\r\n")))
	verbose := get(serve(t, endlessly("HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\n", strings.Repeat("x", 1<<16))))
	absent := probe.Target{IP: "127.0.0.1", Action: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromString("web")}}}
	t.Run("http", func(t *testing.T) {
		probetest.TestProber(t, probe.Probers{}, probetest.Targets{
			Healthy: &healthy, Sick: &sick, Absent: &absent, Hanging: &hanging, Endless: &endless, Verbose: &verbose,
		})
	})
	t.Run("tcp", func(t *testing.T) {
		healthy, sick := asTCP(healthy), asTCP(get(closedPort))
		absent := asTCP(absent)
		probetest.TestProber(t, probe.Probers{}, probetest.Targets{Healthy: &healthy, Sick: &sick, Absent: &absent})
	})
	t.Run("exec", func(t *testing.T) {
		command := func(name string) *probe.Target {
			return &probe.Target{ContainerID: "1", Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{name}}}}
		}
		probetest.TestProber(t, probe.Probers{Exec: &probe.Exec{Execer: commands{}}}, probetest.Targets{
			Healthy: command("healthy"), Sick: command("sick"), Absent: command("absent"),
			Hanging: command("hanging"), Endless: command("endless"), Verbose: command("verbose"),
		})
	})
}

func asTCP(t probe.Target) probe.Target {
	t.Action = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: t.Action.HTTPGet.Port}}
	return t
}

// commands are what a container has, by name.
type commands struct{}

func (commands) Exec(ctx context.Context, _ string, command []string, streams runtime.ExecIO) (int, error) {
	switch command[0] {
	case "sick":
		return 1, nil
	case "absent":
		return 0, errors.New("no such container")
	case "hanging":
		<-ctx.Done()
		return 0, fmt.Errorf("exec: %w", ctx.Err())
	case "endless":
		for ctx.Err() == nil {
			io.WriteString(streams.Stdout, "more and ")
			io.WriteString(streams.Stderr, "more and ")
		}
		return 0, ctx.Err()
	case "verbose":
		io.WriteString(streams.Stdout, strings.Repeat("o", 9<<10))
		io.WriteString(streams.Stderr, strings.Repeat("e", 9<<10))
	}
	return 0, nil
}

// What a server does wrong costs bounded time and is told apart from an answer.
func TestBadServers(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(context.Context, net.Conn)
		result probe.Result
		output string
		err    string
	}{
		"header without end": {
			endlessly("HTTP/1.1 200 OK\r\n", "X-More: of the same, and yet more, and more\r\n"),
			probe.Failure, "server response headers exceeded 65536 bytes; aborted", "",
		},
		"line without end":   {endlessly("HTTP/1.1 200 ", "OK"), probe.Failure, "exceeded", ""},
		"continues for ever": {endlessly("", "HTTP/1.1 100 Continue\r\n\r\n"), probe.Failure, "server response headers exceeded 65536 bytes; aborted", ""},
		"closes early":       {func(context.Context, net.Conn) {}, probe.Failure, "EOF", ""},
		"lies about its length": {
			func(_ context.Context, c net.Conn) {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")
			},
			probe.Failure, "", "unexpected EOF",
		},
		"body stalls": {
			func(ctx context.Context, c net.Conn) {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")
				<-ctx.Done()
			},
			probe.Failure, "", "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
		},
		"never answers": {
			func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
			probe.Failure, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)", "",
		},
		"sends 4 GB":   {endlessly("HTTP/1.0 200 OK\r\n\r\n", strings.Repeat("x", 1<<16)), probe.Success, "xxx", ""},
		"bad chunks":   {endlessly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n"), probe.Failure, "", "invalid byte in chunk length"},
		"is no server": {func(_ context.Context, c net.Conn) { io.WriteString(c, "SSH-2.0\r\n") }, probe.Failure, "malformed HTTP", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				r, err := (&probe.HTTP{Dialer: answering(c.answer)}).Probe(ctx, get(80))
				requireAnswer(t, r, err, c.result, c.output, c.err)
			})
		})
	}
}

// requireAnswer holds a bounded response against what is wanted; no text of an
// error wants none.
func requireAnswer(t *testing.T, r probe.Response, err error, result probe.Result, output, fault string) {
	t.Helper()
	require.Equal(t, result, r.Result, r.Output)
	require.Contains(t, r.Output, output)
	require.LessOrEqual(t, len(r.Output), probe.OutputLimit)
	if fault == "" {
		require.NoError(t, err)
	} else {
		require.ErrorContains(t, err, fault)
	}
}

func TestBadTargets(t *testing.T) {
	web := []v1.ContainerPort{{Name: "web", ContainerPort: 99999}}
	action := func(change func(*v1.HTTPGetAction)) probe.Target {
		target := get(80)
		change(target.Action.HTTPGet)
		target.Ports = web
		return target
	}
	for want, target := range map[string]probe.Target{
		"missing probe handler: the probe has no action": {},
		"no prober for exec actions":                     {Action: v1.ProbeHandler{Exec: &v1.ExecAction{}}},
		"no prober for grpc actions":                     {Action: v1.ProbeHandler{GRPC: &v1.GRPCAction{}}},
		"the pod has no IP address yet":                  {Action: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt(1)}}},
		"invalid port number: 99999":                     action(func(a *v1.HTTPGetAction) { a.Port = intstr.FromString("web") }),
		"invalid port number: 0":                         action(func(a *v1.HTTPGetAction) { a.Port = intstr.FromInt(0) }),
		`parsing "nope"`:                                 action(func(a *v1.HTTPGetAction) { a.Port = intstr.FromString("nope") }),
	} {
		_, err := probe.Probers{}.Probe(t.Context(), target)
		require.ErrorContains(t, err, want)
	}
	for want, target := range map[string]probe.Target{
		// Word for word what net/http's client says.
		`: unsupported protocol scheme "ftp"`:                action(func(a *v1.HTTPGetAction) { a.Scheme = "FTP" }),
		`: net/http: invalid header field name "a b"`:        action(func(a *v1.HTTPGetAction) { a.HTTPHeaders = []v1.HTTPHeader{{Name: "a b"}} }),
		`: net/http: invalid header field value for "Token"`: action(func(a *v1.HTTPGetAction) { a.HTTPHeaders = []v1.HTTPHeader{{Name: "token", Value: "s3cret\r\nx: y"}} }),
		`Get "http:x": http: no Host in request URL`:         action(func(a *v1.HTTPGetAction) { a.Path = "mailto:x" }),
		`Get "ftp://u:***@`:                                  action(func(a *v1.HTTPGetAction) { a.Scheme, a.Path = "ftp", "//u:s3cret@host/" }),
	} {
		r, err := probe.Probers{}.Probe(t.Context(), target)
		require.NoError(t, err)
		require.Equal(t, probe.Failure, r.Result)
		require.Contains(t, r.Output, want)
		require.NotContains(t, r.Output, "s3cret")
	}
}

// A dialer has the last word on where probes may go, redirects included.
func TestDialerIsAnEgressPolicy(t *testing.T) {
	forbidden := errors.New("not allowed here")
	d := dialer(func(ctx context.Context, address string) (net.Conn, error) {
		if !strings.HasPrefix(address, "127.0.0.1:") {
			return nil, forbidden
		}
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	})
	server := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest", http.StatusFound))
	t.Cleanup(server.Close)
	target := get(server.Listener.Addr().(*net.TCPAddr).Port)
	r, err := (&probe.HTTP{Dialer: d, FollowAnyHost: true}).Probe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, probe.Response{Result: probe.Failure, Output: `Get "http://169.254.169.254/latest": not allowed here`}, r)
	target.IP = "10.0.0.1"
	r, err = (&probe.TCP{Dialer: d}).Probe(t.Context(), asTCP(target))
	require.NoError(t, err)
	require.Equal(t, probe.Response{Result: probe.Failure, Output: "not allowed here"}, r)
}

type dialer func(ctx context.Context, address string) (net.Conn, error)

func (d dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	return d(ctx, address)
}

// What is set for the agent itself, as environment, is not for probes.
func TestServerMayChooseHTTP2(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, fmt.Sprint("http://127.0.0.1:", closedPort))
	}
	t.Setenv("DISABLE_HTTP2", "1")
	for _, offered := range []bool{true, false} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/next", http.StatusFound)
				return
			}
			fmt.Fprint(w, r.Proto, " ", r.UserAgent(), strings.Repeat(" ", 20_000))
		}))
		server.EnableHTTP2 = offered
		server.StartTLS()
		t.Cleanup(server.Close)
		target := get(server.Listener.Addr().(*net.TCPAddr).Port)
		target.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
		r, err := new(probe.HTTP).Probe(t.Context(), target)
		require.NoError(t, err)
		require.Equal(t, probe.Success, r.Result, r.Output)
		want := "HTTP/1.1 kube-probe/1.36"
		if offered {
			want = "HTTP/2.0 kube-probe/1.36"
		}
		require.Equal(t, want, strings.TrimSpace(r.Output))
		require.Len(t, r.Output, probe.OutputLimit)
	}
}

func TestUnknownNameFails(t *testing.T) {
	target := get(80)
	target.Action.HTTPGet.Host = "no.such.host.invalid"
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	r, err := new(probe.HTTP).Probe(ctx, target)
	require.NoError(t, err)
	require.Equal(t, probe.Failure, r.Result)
}

// Half a megabyte of a manifest could ask for ten gigabytes at each attempt.
func TestExecReferencesThatExpandWithoutEndAreRefused(t *testing.T) {
	ran := 0
	exec := &probe.Exec{Execer: execFunc(func([]string) (int, error) { ran++; return 0, nil })}
	env := []v1.EnvVar{{Name: "A", Value: strings.Repeat("x", 100_000)}}
	try := func(command ...string) probe.Attempt {
		return probe.Try(t.Context(), exec, probe.Target{Env: env, Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: command}}}, time.Minute)
	}
	for _, command := range [][]string{
		{"true", strings.Repeat("$(A)", 100_000)},
		slices.Repeat([]string{"$(A)"}, 100_000),
	} {
		require.ErrorIs(t, try(command...).Err, runtime.ErrExpanded)
	}
	require.Zero(t, ran)
	require.NoError(t, try(slices.Repeat([]string{"$(A)"}, runtime.MaxExpanded/100_000)...).Err)
	require.Equal(t, 1, ran)
}

func TestExecExpandsLiteralVariables(t *testing.T) {
	var got []string
	e := execFunc(func(command []string) (int, error) { got = command; return 0, nil })
	_, err := (&probe.Exec{Execer: e}).Probe(t.Context(), probe.Target{
		Env: []v1.EnvVar{{Name: "PORT", Value: "80"}, {Name: "FROM", ValueFrom: &v1.EnvVarSource{}}},
		Action: v1.ProbeHandler{Exec: &v1.ExecAction{
			Command: []string{"check", "$(PORT)", "a$(FROM)b", "$(UNKNOWN)", "$$(PORT)"},
		}},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"check", "80", "ab", "$(UNKNOWN)", "$(PORT)"}, got)
}

type execFunc func(command []string) (int, error)

func (f execFunc) Exec(_ context.Context, _ string, command []string, _ runtime.ExecIO) (int, error) {
	return f(command)
}

func TestExecTimeoutIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		p := &probe.Exec{Execer: commands{}}
		r, err := p.Probe(ctx, probe.Target{Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"hanging", "here"}}}})
		require.NoError(t, err)
		require.Equal(t, probe.Response{Result: probe.Failure, Output: `command timed out: "hanging here" timed out after 20ms`}, r)
	})
	// A message that is not the same each time would be news each time. What a
	// variable holds is nobody's business.
	for _, timeout := range []time.Duration{999 * time.Millisecond, 1001 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			r, err := (&probe.Exec{Execer: commands{}}).Probe(ctx, probe.Target{
				Env:    []v1.EnvVar{{Name: "TOKEN", Value: "s3cret"}},
				Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"hanging", "$(TOKEN)"}}},
			})
			require.NoError(t, err)
			require.Equal(t, `command timed out: "hanging $(TOKEN)" timed out after 1s`, r.Output)
		})
	}
	_, err := new(probe.Exec).Probe(t.Context(), probe.Target{Action: v1.ProbeHandler{Exec: &v1.ExecAction{}}})
	require.ErrorIs(t, err, runtime.ErrNotSupported)
}

func TestPrintable(t *testing.T) {
	require.Equal(t, "a\tb\nc", probe.Printable("a\tb\nc"))
	require.Equal(t, `\x1b[31mred\u202e`, probe.Printable("\x1b[31mred\u202e"))
	require.Equal(t, `bad \xff byte, \x00`, probe.Printable("bad \xff byte, \x00"))
	long := probe.Printable(strings.Repeat("ä", 1000))
	require.Equal(t, strings.Repeat("ä", 512)+"...", long)
	require.Equal(t, "x"+strings.Repeat("ä", 511)+"...", probe.Printable("x"+strings.Repeat("ä", 1000)))
	require.Equal(t, strings.Repeat(`\x00`, 256)+"...", probe.Printable(strings.Repeat("\x00", 1000)), "cut as it is shown")
	require.Equal(t, strings.Repeat("\ufffd", 341)+"...", probe.Printable(strings.Repeat("\ufffd", 1000)))
	require.Equal(t, `\r\u0085\u2066`+"\u2028", probe.Printable("\r\u0085\u2066\u2028"))
}
