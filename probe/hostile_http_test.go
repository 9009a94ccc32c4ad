package probe_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/probe"
)

// drips sends a byte each tenth of a second until the other side is gone.
func drips(head string) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		io.WriteString(conn, head)
		for {
			select {
			case <-ctx.Done():
				io.Copy(io.Discard, conn)
				return
			case <-time.After(100 * time.Millisecond):
			}
			if _, err := io.WriteString(conn, "x"); err != nil {
				return
			}
		}
	}
}

func says(answer string) func(context.Context, net.Conn) {
	return func(_ context.Context, conn net.Conn) { io.WriteString(conn, answer) }
}

// What a server may say within the protocol, and just outside of it.
func TestServersThatSayTooMuch(t *testing.T) {
	const timedOut = "context deadline exceeded (Client.Timeout"
	for name, c := range map[string]struct {
		answer func(context.Context, net.Conn)
		result probe.Result
		output string
		err    string
	}{
		"header in drips":          {drips("HTTP/1.1 200 OK\r\nX-A: "), probe.Failure, timedOut, ""},
		"status in drips":          {drips("HTTP/1.1 20"), probe.Failure, timedOut, ""},
		"body in drips":            {drips("HTTP/1.1 200 OK\r\n\r\n"), probe.Failure, "", timedOut},
		"chunk in drips":           {drips("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n"), probe.Failure, "", timedOut},
		"body of an error drips":   {drips("HTTP/1.1 500 No\r\n\r\n"), probe.Failure, "", timedOut},
		"more than its length":     {says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay, and more\r\n"), probe.Success, "ok", ""},
		"length below zero":        {says("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok"), probe.Failure, "bad Content-Length", ""},
		"two lengths":              {says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok"), probe.Failure, "Content-Length", ""},
		"length without end":       {says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nok"), probe.Failure, "bad Content-Length", ""},
		"chunk of a huge size":     {says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nok"), probe.Failure, "", "chunk"},
		"chunk sizes of much text": {endlessly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 4000)+"\r\nx\r\n"), probe.Failure, "", "chunk"},
		"trailer without end":      {endlessly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", "X-A: b\r\n"), probe.Failure, "", "trailer"},
		"encoding of its own":      {says("HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\nok"), probe.Failure, "unsupported transfer encoding", ""},
		"five continues":           {says(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 5) + "HTTP/1.0 200 OK\r\n\r\nok"), probe.Success, "ok", ""},
		"HTTP/0.9":                 {says("<html>ok</html>"), probe.Failure, "malformed HTTP response", ""},
		"HTTP of the future":       {says("HTTP/9.9 200 OK\r\n\r\nok"), probe.Success, "ok", ""},
		"status out of range":      {says("HTTP/1.0 999 What\r\n\r\nok"), probe.Failure, "HTTP probe failed with statuscode: 999", ""},
		"status zero":              {says("HTTP/1.0 000 What\r\n\r\nok"), probe.Failure, "HTTP probe failed with statuscode: 0", ""},
		"status below zero":        {says("HTTP/1.0 -20 What\r\n\r\nok"), probe.Failure, "malformed HTTP status code", ""},
		"another protocol":         {says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nok"), probe.Failure, "statuscode: 101", ""},
		"a page of no length":      {says("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"), probe.Success, "", ""},
		"redirect nowhere":         {says("HTTP/1.1 302 Found\r\nLocation: http://\r\n\r\n"), probe.Warning, "Probe terminated redirects", ""},
		"redirect to a file":       {says("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n"), probe.Warning, "Probe terminated redirects", ""},
		"redirect to ftp":          {says("HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/\r\n\r\n"), probe.Failure, `unsupported protocol scheme "ftp"`, ""},
		"redirect to no URL":       {says("HTTP/1.1 302 Found\r\nLocation: http://[::1/%zz\r\n\r\n"), probe.Failure, "failed to parse Location header", ""},
		"redirect to no port":      {says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:x/\r\n\r\n"), probe.Failure, "failed to parse Location header", ""},
		"redirect in circles":      {says("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), probe.Failure, "stopped after 10 redirects", ""},
		"far redirect in drips":    {drips("HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n"), probe.Failure, "", timedOut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				r, err := (&probe.HTTP{Dialer: answering(c.answer)}).Probe(ctx, get(80))
				require.LessOrEqual(t, time.Since(began), time.Second)
				require.Equal(t, c.result, r.Result, r.Output)
				require.Contains(t, r.Output, c.output)
				require.LessOrEqual(t, len(r.Output), probe.OutputLimit)
				if c.err == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.err)
				}
			})
		})
	}
}

// serveTLS runs a raw server behind a handshake.
func serveTLS(t *testing.T, protos []string, answer func(context.Context, *tls.Conn)) probe.Target {
	lender := httptest.NewTLSServer(nil)
	t.Cleanup(lender.Close)
	config := &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: protos}
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
			go func() {
				defer conn.Close()
				secure := tls.Server(conn, config)
				if secure.Handshake() == nil {
					answer(ctx, secure)
				}
			}()
		}
	}()
	target := get(l.Addr().(*net.TCPAddr).Port)
	target.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
	return target
}

// The name that TLS is told is the host of the URL, whatever the header says; an
// address has none.
func TestServerNameIsTheHostOfTheURL(t *testing.T) {
	for host, want := range map[string]string{"": "", "localhost": "localhost", "fe80::1%lo": ""} {
		synctest.Test(t, func(t *testing.T) {
			told := make(chan string, 1)
			d := dialer(func(context.Context, string) (net.Conn, error) {
				client, server := net.Pipe()
				go func() {
					defer server.Close()
					tls.Server(server, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
						told <- hello.ServerName
						return nil, errors.New("enough")
					}}).Handshake()
				}()
				return client, nil
			})
			target := get(443)
			target.Action.HTTPGet.Host, target.Action.HTTPGet.Scheme = host, v1.URISchemeHTTPS
			target.Action.HTTPGet.HTTPHeaders = []v1.HTTPHeader{{Name: "Host", Value: "other.example"}}
			r, err := (&probe.HTTP{Dialer: d}).Probe(t.Context(), target)
			require.NoError(t, err)
			require.Equal(t, probe.Failure, r.Result)
			require.Equal(t, want, <-told)
		})
	}
}

// A server that shakes hands and then takes nothing more holds nobody up, though
// TLS would wait 5 s for its last word to be taken.
func TestServerThatDoesNotReadIsLeftAtOnce(t *testing.T) {
	lender := httptest.NewTLSServer(nil)
	t.Cleanup(lender.Close)
	synctest.Test(t, func(t *testing.T) {
		d := dialer(func(ctx context.Context, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				tls.Server(server, &tls.Config{Certificates: lender.TLS.Certificates}).Handshake()
				<-ctx.Done()
				<-time.After(time.Minute)
			}()
			return client, nil
		})
		target := get(443)
		target.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		r, err := (&probe.HTTP{Dialer: d}).Probe(ctx, target)
		require.NoError(t, err)
		require.Equal(t, probe.Failure, r.Result)
		require.Contains(t, r.Output, "context deadline exceeded")
		require.Equal(t, time.Second, time.Since(began))
		<-time.After(2 * time.Minute)
	})
}

func TestHandshakes(t *testing.T) {
	secure := func(t *testing.T, answer func(context.Context, net.Conn), timeout time.Duration) probe.Response {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		target := get(80)
		target.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
		d := dialer(func(ctx context.Context, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				bufio.NewReader(server).Peek(1)
				answer(ctx, server)
			}()
			return client, nil
		})
		r, err := (&probe.HTTP{Dialer: d}).Probe(ctx, target)
		require.NoError(t, err)
		require.Equal(t, probe.Failure, r.Result)
		return r
	}
	hang := func(ctx context.Context, conn net.Conn) { go io.Copy(io.Discard, conn); <-ctx.Done() }
	for name, c := range map[string]struct {
		answer  func(context.Context, net.Conn)
		timeout time.Duration
		output  string
	}{
		"never":    {hang, time.Second, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"},
		"too long": {hang, time.Minute, "net/http: TLS handshake timeout"},
		"garbage": {func(_ context.Context, c net.Conn) {
			go io.Copy(io.Discard, c)
			io.WriteString(c, "\x16\x03\x01\xff\xffgarbage, and more of it")
		}, time.Second, "tls: "},
		"plain": {func(_ context.Context, c net.Conn) {
			go io.Copy(io.Discard, c)
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}, time.Second, "server gave HTTP response to HTTPS client"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Contains(t, secure(t, c.answer, c.timeout).Output, c.output)
			})
		})
	}
}

// pipes is a listener without a network, and a dialer to it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- server
	return client, nil
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

func (p *pipes) Addr() net.Addr { return new(net.TCPAddr) }

// HTTP/2 has its own ways of not coming to an end. The bubble sees that no
// goroutine stays behind.
func TestHTTP2ServersThatDoNotEnd(t *testing.T) {
	lender := httptest.NewTLSServer(nil)
	t.Cleanup(lender.Close)
	for name, c := range map[string]struct {
		answer      http.HandlerFunc
		result      probe.Result
		output, err string
	}{
		"never answers": {
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			probe.Failure, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)", "",
		},
		"stalls": {
			func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			},
			probe.Failure, "", "context deadline exceeded",
		},
		"floods": {
			func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					io.WriteString(w, strings.Repeat("x", 1<<16))
				}
			},
			probe.Success, "xxx", "",
		},
		"hints for ever": {
			func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					w.WriteHeader(http.StatusEarlyHints)
				}
			},
			probe.Failure, "header list too large", "",
		},
		"much header": {
			func(w http.ResponseWriter, _ *http.Request) {
				for i := range 1000 {
					w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
				}
			},
			probe.Failure, "PROTOCOL_ERROR", "",
		},
		"circles": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) },
			probe.Failure, "stopped after 10 redirects", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newPipes()
				server := &http.Server{Handler: c.answer, TLSConfig: &tls.Config{Certificates: lender.TLS.Certificates}, ErrorLog: log.New(io.Discard, "", 0)}
				go server.ServeTLS(in, "", "")
				defer server.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				target := get(443)
				target.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
				r, err := (&probe.HTTP{Dialer: in}).Probe(ctx, target)
				require.LessOrEqual(t, time.Since(began), time.Second)
				require.Equal(t, c.result, r.Result)
				require.Contains(t, r.Output, c.output)
				require.LessOrEqual(t, len(r.Output), probe.OutputLimit)
				if c.err == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.err)
				}
			})
		})
	}
}

// A name server that does not answer, and one that can't be reached.
func TestNamesThatDoNotResolve(t *testing.T) {
	for name, c := range map[string]struct {
		ask    func(ctx context.Context, network, address string) (net.Conn, error)
		output string
	}{
		"never answers": {
			func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
			"context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
		},
		"is not there": {
			func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") },
			"lookup no.such.host.invalid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: c.ask}}
			target := get(80)
			target.Action.HTTPGet.Host = "no.such.host.invalid"
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			r, err := (&probe.HTTP{Dialer: d}).Probe(ctx, target)
			require.NoError(t, err)
			require.Equal(t, probe.Failure, r.Result)
			require.Contains(t, r.Output, c.output)
			target.Action = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: "no.such.host.invalid", Port: intstr.FromInt(80)}}
			r, err = (&probe.TCP{Dialer: d}).Probe(ctx, target)
			require.NoError(t, err)
			require.Equal(t, probe.Failure, r.Result)
		})
	}
}

// Whatever a host looks like, what is dialled is that host at that port.
func TestHostsAreDialledAsTheyAre(t *testing.T) {
	for host, want := range map[string]struct{ dialled, header string }{
		"::1":              {"[::1]:80", "[::1]:80"},
		"fe80::1%eth0":     {"[fe80::1%eth0]:80", "[fe80::1]:80"},
		"example.com":      {"example.com:80", "example.com:80"},
		"EXAMPLE.com.":     {"EXAMPLE.com.:80", "EXAMPLE.com.:80"},
		"[::1]":            {"", ""},
		"a b":              {"", ""},
		"user:pw@host":     {"", ""},
		"host/path":        {"", ""},
		"host\r\nX-A: b":   {"", ""},
		"::1]:22/?[":       {"", ""},
		"169.254.169.254#": {"", ""},
	} {
		t.Run(host, func(t *testing.T) {
			dialled, header := "", ""
			d := dialer(func(_ context.Context, address string) (net.Conn, error) {
				dialled = address
				client, server := net.Pipe()
				go func() {
					defer server.Close()
					req, err := http.ReadRequest(bufio.NewReader(server))
					if err == nil {
						header = req.Host
					}
					io.WriteString(server, "HTTP/1.0 200 OK\r\n\r\n")
				}()
				return client, nil
			})
			target := get(80)
			target.Action.HTTPGet.Host = host
			(&probe.HTTP{Dialer: d}).Probe(t.Context(), target)
			require.Equal(t, want.dialled, dialled)
			require.Equal(t, want.header, header)
		})
	}
}

// HTTP/2 lets a server ask for another try on another connection. A probe has one.
func TestHTTP2ServersThatRefuse(t *testing.T) {
	lender := httptest.NewTLSServer(nil)
	t.Cleanup(lender.Close)
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, frame := range map[string]string{
		"stream":     "\x00\x00\x04\x03\x00SSSS\x00\x00\x00\x07",
		"connection": "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dials := 0
				d := dialer(func(context.Context, string) (net.Conn, error) {
					dials++
					client, server := net.Pipe()
					go func() {
						defer server.Close()
						secure := tls.Server(server, &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}})
						io.ReadFull(secure, make([]byte, 24)) // the preface
						io.WriteString(secure, settings)
						header := make([]byte, 9)
						for {
							if _, err := io.ReadFull(secure, header); err != nil {
								return
							}
							size := int64(header[0])<<16 | int64(header[1])<<8 | int64(header[2])
							if _, err := io.CopyN(io.Discard, secure, size); err != nil {
								return
							}
							if header[3] == 1 {
								go io.WriteString(secure, strings.Replace(frame, "SSSS", string(header[5:9]), 1))
							}
						}
					}()
					return client, nil
				})
				target := get(443)
				target.Action.HTTPGet.Scheme = v1.URISchemeHTTPS
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				r, err := (&probe.HTTP{Dialer: d}).Probe(ctx, target)
				require.NoError(t, err)
				require.Equal(t, probe.Response{
					Result: probe.Failure, Output: `Get "https://127.0.0.1:443": http2: the server refused the request, or went away`,
				}, r)
				require.Equal(t, 1, dials)
				require.Less(t, time.Since(began), 5*time.Second)
			})
		})
	}
}
