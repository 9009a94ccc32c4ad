package probe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Dialer makes connections for probers. A *net.Dialer is one. A host that wants a
// say in where probes may go gives its own, which refuses with an error: whoever
// writes a manifest chooses host and port of a probe. The host may be a name, and
// who answers for that chooses what it stands for: the Control of a net.Dialer
// sees the address that is dialled. The address is always one that
// [net.SplitHostPort] takes apart.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// errNoAddress is the error of a network probe of a pod without an address. The
// kubelet asks the loopback of the node instead.
var errNoAddress = errors.New("the pod has no IP address yet")

// TCP probes by making a connection, which it closes again at once: nothing is
// written or read. The zero value works.
type TCP struct {
	// Dialer makes the connections; nil is a plain one whose connections
	// don't linger, so that frequent probes don't exhaust the node's ports.
	Dialer Dialer
}

// Probe implements [Prober] for actions with TCPSocket set.
func (p *TCP) Probe(ctx context.Context, target Target) (Response, error) {
	action := target.Action.TCPSocket
	if action == nil {
		return Response{Result: Unknown}, errors.New("no tcpSocket in the probe's action")
	}
	port, err := runtime.ResolvePort(action.Port, target.Ports)
	if err != nil {
		return Response{Result: Unknown}, err
	}
	host := cmp.Or(action.Host, target.IP)
	if host == "" {
		return Response{Result: Unknown}, errNoAddress
	}
	return p.connect(ctx, net.JoinHostPort(host, strconv.Itoa(port)))
}

func (p *TCP) connect(ctx context.Context, address string) (Response, error) {
	conn, err := dial(ctx, p.Dialer, address)
	switch {
	case err == nil:
		conn.Close()
		return Response{Result: Success}, nil
	case stopped(ctx):
		return Response{Result: Unknown}, ctx.Err()
	case starved(err):
		return Response{Result: Unknown}, err
	}
	return Response{Result: Failure, Output: clip(err.Error())}, nil
}

// starved tells that the agent, or its machine, can't open another file: that says
// nothing of the container.
func starved(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// stopped tells that the probe was called off, which is no timeout and says
// nothing of the container.
func stopped(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// dial asks the dialer, or the plain one, for a connection. What is no address, as
// a host with a bracket makes, fails with the words of [net.Dialer] and is asked of
// none: a dialer that looks at the host first must not fall over it.
func dial(ctx context.Context, d Dialer, address string) (net.Conn, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	if d == nil {
		d = plainDialer
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err == nil && conn == nil {
		err = errNoConnection
	}
	return conn, err
}

var errNoConnection = errors.New("the dialer gave neither a connection nor an error")

// PlainDialer returns the dialer of probers that are given none.
func PlainDialer() Dialer { return plainDialer }

// plainDialer makes connections that are gone a second after they were closed,
// instead of occupying a port for a minute. Names are looked up by Go itself: the
// system's way holds a thread for as long as a name server likes, and has a few
// hundred for all.
var plainDialer Dialer = &net.Dialer{KeepAlive: -1, Control: lingerShortly, Resolver: &net.Resolver{PreferGo: true}}

// sourceless is a connection whose errors don't tell the port that it comes from,
// which is another one each time: the same failure is to say the same.
type sourceless struct{ net.Conn }

func (c sourceless) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, withoutSource(err)
}

func (c sourceless) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, withoutSource(err)
}

func withoutSource(err error) error {
	op, ok := err.(*net.OpError)
	if !ok || op.Source == nil {
		return err
	}
	bare := *op
	bare.Source = nil
	return &bare
}

const lingerFor = time.Second

func lingerShortly(_, _ string, c syscall.RawConn) error {
	var err error
	control := c.Control(func(fd uintptr) { err = setLinger(fd, lingerFor) })
	return errors.Join(control, err)
}

// needsAddress tells whether an action goes to the address of the pod.
func needsAddress(a *v1.ProbeHandler) bool {
	switch {
	case a.HTTPGet != nil:
		return a.HTTPGet.Host == ""
	case a.TCPSocket != nil:
		return a.TCPSocket.Host == ""
	}
	return a.GRPC != nil
}
