package probe_test

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

// model is a probe as plainly as can be: it keeps all that happened to the
// instance and reads the verdict off it.
type model struct {
	kind     probe.Kind
	settings probe.Settings
	state    probe.State
	results  []bool
}

// verdict goes through what happened; held tells that it is the last word.
func (m *model) verdict() (v runtime.Verdict, held bool) {
	v = map[probe.Kind]runtime.Verdict{
		probe.Liveness: runtime.VerdictSuccess, probe.Readiness: runtime.VerdictFailure,
	}[m.kind]
	if v == "" {
		v = runtime.VerdictUnknown
	}
	run := int32(0)
	for i, ok := range m.results {
		if i > 0 && ok != m.results[i-1] {
			run = 0
		}
		run++
		switch {
		case ok && run >= m.settings.SuccessThreshold:
			v = runtime.VerdictSuccess
		case !ok && run >= m.settings.FailureThreshold:
			v = runtime.VerdictFailure
		default:
			continue
		}
		if m.kind == probe.Startup || m.kind == probe.Liveness && !ok {
			return v, true
		}
	}
	return v, false
}

func (m *model) waits() bool {
	guarded := m.kind == probe.Readiness || m.kind == probe.Liveness
	_, held := m.verdict()
	return !m.state.Running || held || m.state.NoAddress || guarded && !m.state.Started || m.kind == probe.Startup && m.state.Started ||
		m.state.Terminating && (m.kind == probe.Startup || m.kind == probe.Liveness)
}

func FuzzTracker(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(uint8(5), []byte{7, 7, 7, 0, 3, 3, 3, 0, 7, 7, 1, 7, 7, 7})
	f.Add(uint8(255), []byte{0, 255, 3, 128, 7, 64, 15, 32})
	f.Add(uint8(206), []byte{0x30, 0xf1, 0x13, 0x17, 0x47, 0xf7})
	f.Fuzz(func(t *testing.T, setup uint8, steps []byte) {
		kind := []probe.Kind{probe.Startup, probe.Readiness, probe.Liveness, probe.Observe}[setup%4]
		settings := probe.Settings{
			Period: 2 * time.Second, InitialDelay: time.Duration(setup>>6) * time.Second,
			SuccessThreshold: int32(setup>>2&1) + 1, FailureThreshold: int32(setup>>3&3) + 1,
		}
		tracker := probe.NewTracker(kind, settings, float64(setup)/256)
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		m := &model{kind: kind, settings: settings}
		// The first instance is not ready and has not started: nobody knows it.
		m.state = probe.State{ContainerID: "0", Running: true, StartedAt: now}
		tracker.Look(now, m.state)
		for i, step := range steps {
			now = now.Add(time.Duration(step>>4) * 250 * time.Millisecond)
			switch step % 16 {
			case 0:
				m.state = probe.State{ContainerID: strconv.Itoa(i + 1), Running: true, StartedAt: now, Started: m.state.Started}
				m.results = nil
				if step>>4%4 == 3 { // it is made, and starts in a while
					m.state.Running, m.state.StartedAt = false, time.Time{}
				}
			case 1:
				m.state.Started = !m.state.Started
			case 2:
				m.state.NoAddress = !m.state.NoAddress
			case 3:
				if m.state.Running {
					m.state.Terminating = true
				} else {
					m.state.Running, m.state.StartedAt = true, now
				}
			default:
				due := tracker.Due()
				if due.IsZero() || due.After(now) {
					continue
				}
				require.False(t, now.Before(m.state.StartedAt.Add(settings.InitialDelay)), "probed before its delay was over")
				a := probe.Attempt{Response: probe.Response{Result: probe.Failure}}
				switch {
				case step%16 >= 8:
					a.Result = probe.Success
				case step%16 == 7:
					a = probe.Attempt{Err: context.DeadlineExceeded}
				}
				before, _ := m.verdict()
				out := tracker.Record(now, a)
				switch {
				case a.Err == nil:
					m.results = append(m.results, a.Result == probe.Success)
				case kind == probe.Startup:
					m.results = append(m.results, false)
				case kind == probe.Observe:
					return // an error is a verdict of its own there
				}
				after, _ := m.verdict()
				require.Equal(t, before != after, out.Changed)
				if due := tracker.Due(); !due.IsZero() {
					require.True(t, due.After(now), "the next attempt is in the future")
					require.LessOrEqual(t, due.Sub(now), 3*time.Second, "and within one and a half periods")
				}
			}
			tracker.Look(now, m.state)
			require.Equal(t, m.waits(), tracker.Due().IsZero(), "waits %s", tracker.Wait())
			if want, _ := m.verdict(); m.state.Running && !tracker.Done() {
				require.Equal(t, want, tracker.Verdict())
			}
		}
	})
}

// Whatever a manifest says, the request goes where its host and port say, and is
// one request with the headers that were asked for.
func FuzzHTTPRequest(f *testing.F) {
	f.Add("/healthz?a=b#c", "", "X-A", "v", "http")
	f.Add("//evil.example/x", "10.0.0.1", "Host", "a\r\nb: c", "HTTPS")
	f.Add("http://user:pw@evil.example:1/%zz", "fd00::1", "a b", "\x00", "")
	f.Add("", "]", "X-A", "v", "")
	f.Add("0", "AAAAA%aaa", "0", "0", "0") // an escape to a URL, and none here
	f.Add(":bad\r\n", "a_b", "Content-Length", "9", "http")
	f.Fuzz(func(t *testing.T, path, host, name, value, scheme string) {
		action := &v1.HTTPGetAction{
			Path: path, Host: host, Scheme: v1.URIScheme(scheme), Port: intstr.FromInt32(8080),
			HTTPHeaders: []v1.HTTPHeader{{Name: name, Value: value}},
		}
		var sent bytes.Buffer
		p := &probe.HTTP{Dialer: dialFunc(func(address string) (net.Conn, error) {
			want := host
			if want == "" {
				want = "10.0.0.9"
			}
			h, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			require.Equal(t, "8080", port)
			require.Equal(t, want, h)
			return &sink{out: &sent}, nil
		})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if scheme != "" {
			action.Scheme = "HTTP"
		}
		r, err := p.Probe(ctx, probe.Target{IP: "10.0.0.9", Action: v1.ProbeHandler{HTTPGet: action}})
		if err != nil || sent.Len() == 0 {
			require.NotEqual(t, probe.Success, r.Result)
			return
		}
		in := bufio.NewReader(&sent)
		req, err := http.ReadRequest(in)
		if err != nil {
			return // a host that no server takes
		}
		require.Equal(t, http.MethodGet, req.Method)
		require.Zero(t, in.Buffered(), "one request, without a body")
		require.LessOrEqual(t, len(req.Header), 5)
	})
}

type dialFunc func(address string) (net.Conn, error)

func (f dialFunc) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	return f(address)
}

// sink is a connection that keeps what is sent and answers 200.
type sink struct {
	net.Conn
	out  *bytes.Buffer
	read bool
}

func (s *sink) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s *sink) Read(p []byte) (int, error) {
	if s.read {
		return 0, net.ErrClosed
	}
	s.read = true
	return copy(p, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), nil
}

func (s *sink) Close() error                { return nil }
func (s *sink) SetDeadline(time.Time) error { return nil }

// Whatever a server answers, again and again, a probe comes to an end, keeps little
// of it, and follows it to no other host.
func FuzzHTTPAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	f.Add([]byte("HTTP/1.1 302 Found\r\nLocation: //10.0.0.9:1/\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 302 Found\r\nLocation: https://10.0.0.9\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 307 \r\nLocation: http://user:pw@10.0.0.9:99999/%zz\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		dials := 0
		p := &probe.HTTP{Dialer: dialFunc(func(address string) (net.Conn, error) {
			dials++
			host, _, err := net.SplitHostPort(address)
			require.NoError(t, err)
			require.Equal(t, "10.0.0.9", host)
			return &parrot{in: bytes.NewReader(answer)}, nil
		})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := p.Probe(ctx, probe.Target{IP: "10.0.0.9", Action: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}})
		require.NoError(t, ctx.Err())
		require.LessOrEqual(t, dials, 10)
		require.LessOrEqual(t, len(r.Output), probe.OutputLimit+100)
		require.Contains(t, []probe.Result{probe.Success, probe.Warning, probe.Failure}, r.Result)
		if err != nil {
			require.Equal(t, probe.Failure, r.Result)
		}
	})
}

// parrot is a connection that answers the same to everything.
type parrot struct {
	net.Conn
	in *bytes.Reader
}

func (p *parrot) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *parrot) Write(b []byte) (int, error) { return len(b), nil }
func (p *parrot) Close() error                { return nil }
func (p *parrot) SetDeadline(time.Time) error { return nil }
