package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

func listJSON(items ...string) string {
	return `{"apiVersion":"v1","kind":"PodList","items":[` + strings.Join(items, ",") + `]}`
}

func podJSON(name string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
}

// serve answers with what the handler is at the time.
func serve(t *testing.T) (*httptest.Server, *atomic.Pointer[http.HandlerFunc]) {
	t.Helper()
	var handler atomic.Pointer[http.HandlerFunc]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load())(w, r) }))
	t.Cleanup(server.Close)
	return server, &handler
}

func answers(handler *atomic.Pointer[http.HandlerFunc], f http.HandlerFunc) { handler.Store(&f) }

func body(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func newTestFetcher(t *testing.T, h *HTTP) *fetcher {
	t.Helper()
	h.Decoder = decoder
	f, err := newFetcher(h)
	require.NoError(t, err)
	return f
}

func TestHTTPOnePodAndAList(t *testing.T) {
	server, handler := serve(t)
	f := newTestFetcher(t, &HTTP{URL: server.URL})
	answers(handler, body(podYAML("a")))
	report, answered := f.fetch(t.Context())
	require.True(t, answered)
	require.NoError(t, report.Err)
	require.Equal(t, []string{"a"}, names(report))

	report, _ = f.fetch(t.Context())
	require.Empty(t, report.Op, "the same body says nothing new")

	answers(handler, body(listJSON(podJSON("a"), podJSON("b"))))
	report, _ = f.fetch(t.Context())
	require.Equal(t, []string{"a", "b"}, names(report))

	answers(handler, body(listJSON()))
	report, _ = f.fetch(t.Context())
	require.Equal(t, podmanager.OpSet, report.Op, "a list without items is an answer")
	require.Empty(t, report.Pods)
}

func TestHTTPBadItemIsRefusedAlone(t *testing.T) {
	server, handler := serve(t)
	f := newTestFetcher(t, &HTTP{URL: server.URL})
	answers(handler, body(listJSON(podJSON("a"), podJSON("b"))))
	f.fetch(t.Context())
	answers(handler, body(listJSON(podJSON("a"), `{"metadata":{"name":"b"},"spec":{"containers":[]}}`, podJSON("c"), podJSON("No_Name"))))
	report, _ := f.fetch(t.Context())
	require.Equal(t, []string{"a", "b", "c"}, names(report), "the last good b stays")
	bad := manifestErrors(report.Err)
	require.Len(t, bad, 2)
	require.True(t, bad[0].Kept)
	require.False(t, bad[1].Kept)

	report, _ = f.fetch(t.Context())
	require.Error(t, report.Err, "it stays wrong until it is mended")

	answers(handler, body(listJSON(podJSON("No_Name"), podJSON("Nor_This"))))
	report, _ = f.fetch(t.Context())
	require.Empty(t, report.Op, "a list in which nothing is good is no answer")
}

func TestHTTPFailuresAreNoAnswer(t *testing.T) {
	server, handler := serve(t)
	f := newTestFetcher(t, &HTTP{URL: server.URL})
	answers(handler, body(podYAML("a")))
	f.fetch(t.Context())

	for name, failure := range map[string]http.HandlerFunc{
		"status":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		"empty":     body(""),
		"too large": body(strings.Repeat("#", manifest.MaxBytes)),
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "kind: Pod")
		},
		"not modified, unasked": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
	} {
		t.Run(name, func(t *testing.T) {
			answers(handler, failure)
			report, answered := f.fetch(t.Context())
			require.False(t, answered)
			require.Error(t, report.Err)
			require.Empty(t, report.Op, "what it said last stays")
		})
	}
	answers(handler, body("nonsense"))
	report, _ := f.fetch(t.Context())
	require.Empty(t, report.Op)
	require.True(t, manifestErrors(report.Err)[0].Kept)

	answers(handler, body(podYAML("a")))
	report, _ = f.fetch(t.Context())
	require.NoError(t, report.Err)
	require.Equal(t, []string{"a"}, names(report))
}

func TestHTTPEmptyBodyMeansEmptyWhenAsked(t *testing.T) {
	server, handler := serve(t)
	f := newTestFetcher(t, &HTTP{URL: server.URL, MissingMeansEmpty: true})
	answers(handler, body(""))
	report, answered := f.fetch(t.Context())
	require.True(t, answered)
	require.Equal(t, podmanager.OpSet, report.Op)
	require.ErrorIs(t, report.Err, ErrEmptyBody)
}

func TestHTTPConditionalRequests(t *testing.T) {
	server, handler := serve(t)
	f := newTestFetcher(t, &HTTP{URL: server.URL})
	asked := 0
	answers(handler, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			asked++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, podYAML("a"))
	})
	f.fetch(t.Context())
	report, answered := f.fetch(t.Context())
	require.True(t, answered)
	require.NoError(t, report.Err)
	require.Empty(t, report.Op)
	require.Equal(t, 1, asked)
}

func TestHTTPHeadersStayWithTheirHost(t *testing.T) {
	other, otherHandler := serve(t)
	server, handler := serve(t)
	answers(handler, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "hush", r.Header.Get("X-Token"))
		http.Redirect(w, r, other.URL+"/elsewhere", http.StatusFound)
	})
	answers(otherHandler, func(w http.ResponseWriter, r *http.Request) {
		require.Empty(t, r.Header.Get("X-Token"))
		require.Empty(t, r.Header.Get("Referer"), "it would tell the query of the URL")
		_, _ = io.WriteString(w, podYAML("a"))
	})
	f := newTestFetcher(t, &HTTP{URL: server.URL + "?token=hush", Header: http.Header{"X-Token": {"hush"}}})
	report, _ := f.fetch(t.Context())
	require.NoError(t, report.Err)
	require.Equal(t, []string{"a"}, names(report))
}

func TestHTTPRedirectsAreBounded(t *testing.T) {
	server, handler := serve(t)
	requests := 0
	answers(handler, func(w http.ResponseWriter, r *http.Request) {
		requests++
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	report, answered := newTestFetcher(t, &HTTP{URL: server.URL}).fetch(t.Context())
	require.False(t, answered)
	require.ErrorContains(t, report.Err, "redirects")
	require.LessOrEqual(t, requests, maxRedirects+1)
}

func TestHTTPSecretsStayOutOfErrorsAndIdentity(t *testing.T) {
	server, handler := serve(t)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	u.User = url.UserPassword("joe", "hush")
	u.RawQuery = "token=hush"
	for name, f := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"body":   body("nonsense"),
		"hang up": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			require.NoError(t, err)
			conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			answers(handler, f)
			report, _ := newTestFetcher(t, &HTTP{URL: u.String()}).fetch(t.Context())
			require.Error(t, report.Err)
			require.NotContains(t, report.Err.Error(), "hush")
			require.Contains(t, report.Err.Error(), server.URL)
		})
	}

	answers(handler, body(podYAML("a")))
	with, _ := newTestFetcher(t, &HTTP{URL: u.String()}).fetch(t.Context())
	without, _ := newTestFetcher(t, &HTTP{URL: server.URL}).fetch(t.Context())
	require.Equal(t, without.Pods[0].UID, with.Pods[0].UID, "a new password is no new pod")
}

// A server that says its answer is shorter than it is has the rest quoted in
// the process's log by net/http, unless the connection ends with the answer.
func TestHTTPWhatFollowsTheAnswerIsNotLogged(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	sent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer close(sent)
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}password: secret")
		_, _ = io.Copy(io.Discard, conn) // until the client hangs up
	}))
	defer server.Close()
	f, err := newFetcher(&HTTP{URL: server.URL, Decoder: decoder})
	require.NoError(t, err)
	report, _ := f.fetch(t.Context())
	require.Error(t, report.Err)
	select {
	case <-sent:
	case <-time.After(patience):
		t.Fatal("the connection stays open")
	}
	require.Empty(t, logged.String())
}

// net/http quotes a line that it does not understand, however long it is, and such
// an error is kept with events and health.
func TestHTTPErrorsAreShort(t *testing.T) {
	server, handler := serve(t)
	for name, answer := range map[string]string{
		"status line": strings.Repeat("\x01", 20<<10),
		"endless":     "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"location":    "HTTP/1.1 302 Found\r\nLocation: %zz" + strings.Repeat("y", 30<<10) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			answers(handler, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					return
				}
				defer conn.Close()
				fmt.Fprint(conn, answer, "\r\n\r\n")
			})
			report, _ := newTestFetcher(t, &HTTP{URL: server.URL}).fetch(t.Context())
			require.Error(t, report.Err)
			require.Less(t, len(report.Err.Error()), 2*errorLimit)
		})
	}
}

func TestHTTPBadURLs(t *testing.T) {
	for _, bad := range []string{"", "ftp://host/", "http://", "://hush", "/path"} {
		err := (&HTTP{URL: bad}).Run(t.Context(), nil)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "hush")
	}
}

// transport answers in a synctest bubble, where no network is.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHTTPAsksAFailingServerSoonAndThenLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		asked := make(chan time.Duration, 100)
		reports := make(chan podmanager.Report, 100)
		var up atomic.Bool
		client := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			asked <- time.Since(start)
			if !up.Load() {
				return nil, fmt.Errorf("connection refused")
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(podYAML("a")))}, nil
		})}
		ctx, cancel := context.WithCancel(t.Context())
		h := &HTTP{URL: "http://host/pods", Client: client, Decoder: decoder}
		done := make(chan error)
		go func() { done <- h.Run(ctx, func(r podmanager.Report) { reports <- r }) }()

		for _, at := range []time.Duration{0, 1, 3, 7, 15, 31} {
			require.Equal(t, at*time.Second, <-asked)
			require.ErrorContains(t, (<-reports).Err, "connection refused")
		}
		up.Store(true)
		report := <-reports
		require.NoError(t, report.Err)
		require.Equal(t, []string{"a"}, names(report))
		cancel()
		require.NoError(t, <-done)
	})
}
