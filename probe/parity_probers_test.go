package probe

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/runtime"
)

// shorten cuts a text the way the recordings do.
func shorten(s string) string {
	if len(s) > 400 {
		return s[:64] + "..."
	}
	return s
}

// recordedVersion is what the recordings say for the kubelet's own.
const recordedVersion = "{MAJOR}.{MINOR}"

type recordedReply struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	BodyLen int               `json:"body_len"`
	DelayMS int               `json:"delay_ms"`
	StallMS int               `json:"stall_ms"`
	Gzip    bool              `json:"gzip"`
	ShortBy int               `json:"short_by"`
}

type recordedRequest struct {
	Port    string      `json:"port"`
	Method  string      `json:"method"`
	URI     string      `json:"uri"`
	Host    string      `json:"host"`
	Headers http.Header `json:"headers"`
}

type httpCase struct {
	ID        string                   `json:"id"`
	Server    map[string]recordedReply `json:"server"`
	Raw       string                   `json:"raw"`
	TimeoutMS int                      `json:"timeout_ms"`
	HTTPGet   json.RawMessage          `json:"http_get"`
	PodIP     string                   `json:"pod_ip"`
	FollowAny bool                     `json:"follow_non_local_redirects"`
	Want      struct {
		Result    Result            `json:"result"`
		Output    string            `json:"output"`
		OutputLen int               `json:"output_len"`
		Base64    []byte            `json:"output_base64"`
		Error     string            `json:"error"`
		Requests  []recordedRequest `json:"requests"`
	} `json:"want"`
}

// pages are the servers of the recordings.
type pages struct {
	ports map[string]string // placeholder to port

	mu       sync.Mutex
	current  httpCase
	requests []recordedRequest
	slowness time.Duration
}

// unhurried judges a case as its recording has it, and then with all its times
// ten and a hundred times as long: what a busy machine does not do in 120 ms says
// nothing of a prober.
func unhurried(judge func(slowness time.Duration) recordings.Answer) (o recordings.Answer) {
	for _, slowness := range []time.Duration{1, 10, 100} {
		if o = judge(slowness); o.Agrees {
			break
		}
	}
	return o
}

func newPages(t *testing.T) *pages {
	p := &pages{ports: map[string]string{}}
	for name, start := range map[string]func(*httptest.Server){
		"{HTTP}": (*httptest.Server).Start, "{OTHER}": (*httptest.Server).Start, "{HTTPS}": (*httptest.Server).StartTLS,
	} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(name, w, r) }))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{}
		start(server)
		t.Cleanup(server.Close)
		p.ports[name] = portOf(server.Listener)
	}
	raw := listen(t)
	go p.serveRaw(raw)
	p.ports["{RAW}"] = portOf(raw)
	p.ports["{CLOSED}"] = "1" // nobody serves that, and nobody is given it who asks for any port
	return p
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func portOf(l net.Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }

// fill puts real ports in for placeholders.
func (p *pages) fill(s string) string {
	for name, port := range p.ports {
		s = strings.ReplaceAll(s, `"port":"`+name+`"`, `"port":`+port)
		s = strings.ReplaceAll(s, name, port)
	}
	return s
}

func (p *pages) serve(name string, w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	c := p.current
	p.requests = append(p.requests, recordedRequest{name, r.Method, r.RequestURI, r.Host, r.Header.Clone()})
	p.mu.Unlock()
	reply, ok := c.Server[r.URL.Path]
	if !ok {
		if reply, ok = c.Server["*"]; !ok {
			reply = recordedReply{Status: http.StatusNotFound}
		}
	}
	for key, value := range reply.Headers {
		w.Header().Set(key, p.fill(value))
	}
	p.wait(r, reply.DelayMS)
	body := cmp.Or(reply.Body, strings.Repeat("x", reply.BodyLen))
	if reply.Gzip {
		body = zip(body)
		w.Header().Set("Content-Encoding", "gzip")
	}
	if reply.ShortBy > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+reply.ShortBy))
	}
	w.WriteHeader(reply.Status)
	if reply.StallMS > 0 {
		w.(http.Flusher).Flush()
		p.wait(r, reply.StallMS)
	}
	io.WriteString(w, body)
	if reply.ShortBy > 0 {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func zip(s string) string {
	var out strings.Builder
	w := gzip.NewWriter(&out)
	io.WriteString(w, s)
	w.Close()
	return out.String()
}

func (p *pages) wait(r *http.Request, ms int) {
	p.mu.Lock()
	timer := time.NewTimer(p.slowness * time.Duration(ms) * time.Millisecond)
	p.mu.Unlock()
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

func (p *pages) serveRaw(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conn.Read(make([]byte, 4096))
		p.mu.Lock()
		io.WriteString(conn, p.current.Raw)
		p.mu.Unlock()
		conn.Close()
	}
}

// parts are the beginnings of texts that are the kubelet's own, unlike those of
// package net.
var kubeletTexts = []string{"HTTP probe failed", "Probe terminated redirects", "stopped after"}

func replayHTTP(t *testing.T) func(*testing.T, []byte) recordings.Answer {
	p := newPages(t)
	return func(t *testing.T, line []byte) recordings.Answer {
		return unhurried(func(slowness time.Duration) recordings.Answer { return p.judge(t, line, slowness) })
	}
}

func (p *pages) judge(t *testing.T, line []byte, slowness time.Duration) recordings.Answer {
	var c httpCase
	require.NoError(t, json.Unmarshal(line, &c))
	var action v1.HTTPGetAction
	require.NoError(t, json.Unmarshal([]byte(p.fill(string(c.HTTPGet))), &action))
	p.mu.Lock()
	p.current, p.requests, p.slowness = c, nil, slowness
	p.mu.Unlock()

	ctx, cancel := context.WithTimeout(t.Context(), slowness*time.Duration(c.TimeoutMS)*time.Millisecond)
	defer cancel()
	prober := &HTTP{Version: recordedVersion, FollowAnyHost: c.FollowAny}
	r, err := prober.Probe(ctx, Target{IP: c.PodIP, Action: v1.ProbeHandler{HTTPGet: &action}})

	p.mu.Lock()
	requests := p.requests
	p.mu.Unlock()
	got := c.Want
	got.Result, got.Output, got.OutputLen, got.Error = r.Result, shorten(r.Output), len(r.Output), ""
	if err != nil {
		got.Error = err.Error()
	}
	got.Requests = requests
	want := c.Want
	if len(want.Base64) > 0 {
		want.Output = string(want.Base64)
	}
	agrees := got.Result == want.Result && (got.Error == "") == (want.Error == "") && p.sameRequests(got.Requests, want.Requests)
	ours := want.Result == Success
	for _, text := range kubeletTexts {
		ours = ours || strings.Contains(want.Output, text)
	}
	if ours {
		agrees = agrees && got.Output == want.Output && got.OutputLen == want.OutputLen
	}
	return recordings.Answer{Agrees: agrees, Got: got, Want: want}
}

// sameRequests compares requests; a referer is compared up to its port, which the
// recordings have from their own server.
func (p *pages) sameRequests(got, want []recordedRequest) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		g, w := got[i], want[i]
		for _, h := range []http.Header{g.Headers, w.Headers} {
			if referer := h.Get("Referer"); referer != "" {
				h.Set("Referer", refererHost(referer))
			}
		}
		if g.Port != w.Port || g.Method != w.Method || g.URI != w.URI || g.Host != p.fill(w.Host) || recordings.JSON(g.Headers) != recordings.JSON(w.Headers) {
			return false
		}
	}
	return true
}

func refererHost(referer string) string {
	scheme, rest, _ := strings.Cut(referer, "://")
	host, path, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, ":")
	return scheme + "://" + host + "/" + path
}

func replayRequest(t *testing.T, line []byte) recordings.Answer {
	type result struct {
		URL     string      `json:"url"`
		Host    string      `json:"host"`
		Headers http.Header `json:"headers"`
		Error   string      `json:"error"`
	}
	var c struct {
		ID       string             `json:"id"`
		HTTPGet  v1.HTTPGetAction   `json:"http_get"`
		Ports    []v1.ContainerPort `json:"container_ports"`
		PodIP    string             `json:"pod_ip"`
		Fragment string             `json:"user_agent_fragment"`
		Want     result             `json:"want"`
	}
	require.NoError(t, json.Unmarshal(line, &c))
	var got result
	req, err := runtime.HTTPRequest(t.Context(), &c.HTTPGet, c.Ports, c.PodIP, "kube-"+c.Fragment+"/"+recordedVersion)
	if err != nil {
		got.Error = err.Error()
	} else {
		got = result{URL: req.URL.String(), Host: req.Host, Headers: req.Header}
	}
	return recordings.Compare(c.Want, got)
}

type probed struct {
	Result    Result `json:"result"`
	Output    string `json:"output"`
	OutputLen int    `json:"output_len"`
	Error     string `json:"error,omitempty"`
}

func probedAs(r Response, err error) probed {
	p := probed{Result: r.Result, Output: shorten(r.Output), OutputLen: len(r.Output)}
	if err != nil {
		p.Error = err.Error()
	}
	return p
}

func replayTCP(t *testing.T) func(*testing.T, []byte) recordings.Answer {
	p := newPages(t)
	return func(t *testing.T, line []byte) recordings.Answer {
		var c struct {
			ID        string `json:"id"`
			Host      string `json:"host"`
			Port      string `json:"port"`
			TimeoutMS int    `json:"timeout_ms"`
			Want      probed `json:"want"`
		}
		require.NoError(t, json.Unmarshal([]byte(p.fill(strings.ReplaceAll(string(line), `"port":`, `"port": `))), &c))
		return unhurried(func(slowness time.Duration) recordings.Answer {
			ctx := t.Context()
			if c.TimeoutMS > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, slowness*time.Duration(c.TimeoutMS)*time.Millisecond)
				defer cancel()
			}
			r, err := new(TCP).connect(ctx, net.JoinHostPort(c.Host, c.Port))
			got := probedAs(r, err)
			return recordings.Answer{Got: got, Want: c.Want,
				Agrees: got.Result == c.Want.Result && got.Error == c.Want.Error && (got.Output == "") == (c.Want.Output == "")}
		})
	}
}

// execer answers like the runtime of a recording.
type execer func(streams runtime.ExecIO) (int, error)

func (e execer) Exec(_ context.Context, _ string, _ []string, streams runtime.ExecIO) (int, error) {
	return e(streams)
}

type recordedExec struct {
	Output    string `json:"output"`
	OutputLen int    `json:"output_len"`
	Kind      string `json:"kind"`
	ExitCode  int    `json:"exit_code"`
	ErrorText string `json:"error_text"`
}

func (r recordedExec) run(streams runtime.ExecIO) (int, error) {
	io.WriteString(streams.Stdout, cmp.Or(r.Output, strings.Repeat("x", r.OutputLen)))
	switch r.Kind {
	case "timeout":
		return 0, &timeoutError{r.ErrorText}
	case "error":
		return 0, errors.New(r.ErrorText)
	}
	return r.ExitCode, nil
}

// timeoutError is that of a runtime which keeps its own timeout.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string { return ErrTimedOut.Error() + ": " + e.text }
func (e *timeoutError) Unwrap() error { return ErrTimedOut }

func replayExec(t *testing.T, line []byte) recordings.Answer {
	var c struct {
		ID string `json:"id"`
		recordedExec
		Want probed `json:"want"`
	}
	require.NoError(t, json.Unmarshal(line, &c))
	prober := &Exec{Execer: execer(c.run)}
	got := probedAs(prober.Probe(t.Context(), Target{Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}}))
	return recordings.Answer{Agrees: got == c.Want, Got: got, Want: c.Want}
}
