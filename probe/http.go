package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// HTTP probes with a GET request over a connection of its own: a status from 200
// to 299 is Success, one from 300 to 399 Warning, any other Failure, as is a
// request that fails. Redirects are followed while they stay on the host, ten
// requests at most. An answer whose body can't be read is an error, and so is it
// when the agent can open no more files. The zero value works.
//
// What a manifest's author can do with it: have this agent send GET requests,
// with headers of his choice, to any host and port that the agent can reach,
// and read the first 10 KiB of good answers in the probe's output. Proxies of the
// environment are not used; certificates are not verified. Time, bytes and
// redirects are bounded; give a Dialer to bound where.
type HTTP struct {
	// Version goes into the header "User-Agent: kube-probe/<Version>": major
	// and minor of what the host calls itself; "1.36" by default.
	Version string
	// Dialer makes the connections; nil is a plain one, as for [TCP].
	Dialer Dialer
	// FollowAnyHost follows redirects to other hosts too, where the kubelet's
	// probes stop with a Warning.
	FollowAnyHost bool
}

// defaultVersion is the minor release whose rules these are.
const defaultVersion = "1.36"

// UserAgent is the User-Agent that a prober of a version sends.
func UserAgent(version string) string {
	if version == "" {
		version = defaultVersion
	}
	return "kube-probe/" + version
}

const (
	// headerLimit is how many bytes of header are read, those of answers that
	// come before the real one among them; net/http takes 10 MiB.
	headerLimit = 64 << 10
	// handshakeTimeout bounds the TLS handshake within the probe's timeout.
	handshakeTimeout = 10 * time.Second
	// http2Buffer bounds what is taken in of a body over HTTP/2 before it is
	// asked for; net/http takes 4 MiB.
	http2Buffer = 64 << 10
)

// Probe implements [Prober] for actions with HTTPGet set.
func (p *HTTP) Probe(ctx context.Context, target Target) (Response, error) {
	action := target.Action.HTTPGet
	if action == nil {
		return Response{Result: Unknown}, errors.New("no httpGet in the probe's action")
	}
	req, err := runtime.HTTPRequest(ctx, action, target.Ports, target.IP, UserAgent(p.Version))
	switch {
	case err != nil:
		return Response{Result: Unknown}, err
	case action.Host == "" && target.IP == "":
		return Response{Result: Unknown}, errNoAddress
	case stopped(ctx):
		return Response{Result: Unknown}, ctx.Err()
	}
	status, body, err := p.get(req)
	var unread *bodyError
	switch {
	case err != nil && stopped(ctx):
		return Response{Result: Unknown}, ctx.Err()
	case starved(err):
		return Response{Result: Unknown}, err
	case errors.As(err, &unread):
		return Response{Result: Failure}, unread
	case err != nil:
		return Response{Result: Failure, Output: clip(err.Error())}, nil
	case status >= 200 && status < 300:
		return Response{Result: Success, Output: body}, nil
	case status >= 300 && status < 400:
		return Response{Result: Warning, Output: "Probe terminated redirects, Response body: " + body}, nil
	}
	return Response{Result: Failure, Output: fmt.Sprintf("HTTP probe failed with statuscode: %d", status)}, nil
}

// get sends the request and what it is redirected to, and returns the last status
// and the beginning of its body.
func (p *HTTP) get(first *http.Request) (status int, body string, err error) {
	req := first
	for made := 1; ; made++ {
		res, err := p.exchange(req)
		if err != nil {
			return 0, "", getError(withoutPassword(req.URL), explain(req.Context(), err))
		}
		next, err := p.redirect(first, req, res.Response, made)
		if err != nil || next != nil {
			res.close()
			if err != nil {
				return 0, "", err
			}
			req = next
			continue
		}
		body, err := res.readBody()
		res.close()
		return res.StatusCode, body, err
	}
}

// exchanged is a response together with the connection that it is read from.
type exchanged struct {
	*http.Response
	ctx     context.Context
	raw     net.Conn
	conn    net.Conn // over raw, perhaps with TLS
	in      *bufio.Reader
	limited *io.LimitedReader
	release func() bool
}

// exchange sends one request and reads the head of the answer.
func (p *HTTP) exchange(req *http.Request) (_ *exchanged, err error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	ctx := req.Context()
	conn, err := dial(ctx, p.Dialer, addressOf(req))
	if err != nil {
		return nil, err
	}
	x := &exchanged{ctx: ctx, raw: conn, conn: sourceless{conn}, release: context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })}
	defer func() {
		if err != nil {
			x.close()
		}
	}()
	authorize(req)
	if req.URL.Scheme == "https" {
		secure, err := handshake(ctx, x.conn, req.URL.Hostname())
		if err != nil {
			return nil, err
		}
		x.conn = secure
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return x, x.overHTTP2(req)
		}
	}
	if err := send(x.conn, req); err != nil {
		return nil, err
	}
	return x, x.readHead(req)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

func addressOf(req *http.Request) string {
	port := req.URL.Port()
	switch {
	case port != "":
	case req.URL.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(req.URL.Hostname(), port)
}

func handshake(ctx context.Context, conn net.Conn, host string) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errHandshakeTimeout)
	defer cancel()
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: host, NextProtos: []string{"h2", "http/1.1"}})
	err := secure.HandshakeContext(ctx)
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && string(plain.RecordHeader[:]) == "HTTP/" {
		err = errors.New("http: server gave HTTP response to HTTPS client")
	}
	if err != nil && errors.Is(context.Cause(ctx), errHandshakeTimeout) {
		err = errHandshakeTimeout
	}
	return secure, err
}

var errHandshakeTimeout = errors.New("net/http: TLS handshake timeout")

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 1<<10) }}

func send(conn net.Conn, req *http.Request) error {
	w := writers.Get().(*bufio.Writer)
	defer writers.Put(w)
	w.Reset(conn)
	defer w.Reset(nil)
	if err := req.Write(w); err != nil {
		return err
	}
	return w.Flush()
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// readHead reads up to the body of the answer.
func (x *exchanged) readHead(req *http.Request) error {
	x.limited = &io.LimitedReader{R: x.conn, N: headerLimit}
	x.in = readers.Get().(*bufio.Reader)
	x.in.Reset(x.limited)
	if _, err := x.in.Peek(1); err != nil {
		return err
	}
	for {
		res, err := http.ReadResponse(x.in, req)
		switch {
		case err != nil && x.limited.N <= 0:
			return fmt.Errorf("net/http: server response headers exceeded %d bytes; aborted", headerLimit)
		case err != nil:
			return fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", err)
		}
		x.Response = res
		if res.StatusCode/100 != 1 || res.StatusCode == http.StatusSwitchingProtocols {
			x.limited.N = math.MaxInt64
			return nil
		}
	}
}

// overHTTP2 leaves the connection to net/http, because the server chose HTTP/2. It
// would try again over further ones where a server sends the request back.
func (x *exchanged) overHTTP2(req *http.Request) (err error) {
	var lent atomic.Bool
	transport := &http.Transport{
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			if lent.Swap(true) {
				return nil, errSentBack
			}
			return x.conn, nil
		},
		ForceAttemptHTTP2:  true,
		DisableKeepAlives:  true,
		DisableCompression: true,

		MaxResponseHeaderBytes: headerLimit,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: http2Buffer, MaxReceiveBufferPerConnection: http2Buffer},
	}
	x.Response, err = transport.RoundTrip(req)
	return err
}

var errSentBack = errors.New("http2: the server refused the request, or went away")

// bodyError says that the body of an answer could not be read.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// readBody reads the beginning of the body.
func (x *exchanged) readBody() (string, error) {
	body, err := io.ReadAll(io.LimitReader(x.Body, OutputLimit))
	switch {
	case err == nil:
		return string(body), nil
	case errors.Is(x.ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("%w (Client.Timeout or context cancellation while reading body)", x.ctx.Err())
	}
	return "", &bodyError{err}
}

func (x *exchanged) close() {
	x.release()
	if x.ctx.Err() != nil {
		abandon(x.raw)
	}
	x.conn.Close()
	if x.in != nil {
		x.in.Reset(nil)
		readers.Put(x.in)
		x.in = nil
	}
}

// abandon closes the connection to a server that was not quick enough, without
// waiting for it to take what is on the way: neither TLS's last word, for which
// that package has 5 s, nor what the system would linger for.
func abandon(conn net.Conn) {
	if tcp, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// explain says of what failed because time was up that it was.
func explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w (Client.Timeout exceeded while awaiting headers)", ctx.Err())
	}
	return err
}
