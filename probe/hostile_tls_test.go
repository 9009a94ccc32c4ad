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

	"github.com/kubeparts/kubeparts/probe"
)

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
				requireAnswer(t, r, err, c.result, c.output, c.err)
			})
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
