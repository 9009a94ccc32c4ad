//go:build unix

package keeper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

func (k *keeper) accept(listener *net.UnixListener) {
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			// Out of descriptors: those that are open will be closed.
			<-time.After(100 * time.Millisecond)
			continue
		}
		go k.serve(conn)
	}
}

// serve answers the one request of a connection.
func (k *keeper) serve(conn *net.UnixConn) {
	defer conn.Close()
	var req Request
	files, err := receive(conn, &req, maxMessage)
	if err != nil {
		return
	}
	defer closeAll(files)
	switch req.Op {
	case OpWatch:
		k.serveWatch(conn)
	case OpExec:
		k.serveExec(conn, req, files)
	case OpShutdown:
		k.serveShutdown(conn)
	default:
		var resp Response
		if err := k.answer(req, &resp); err != nil {
			resp.fail(err)
		}
		_ = send(conn, &resp)
	}
}

func (k *keeper) answer(req Request, resp *Response) (err error) {
	switch req.Op {
	case OpHello:
		k.do(func() { k.sandbox = req.Sandbox })
	case OpList:
		k.do(func() { k.list(resp) })
	case OpCreate:
		k.do(func() { err = k.create(req.Container, req.Command) })
	case OpStart:
		k.do(func() {
			if c := k.containers[req.ID]; c != nil {
				err = k.start(c)
			} else {
				err = ErrUnknown
			}
		})
	case OpStop:
		k.stopAndWait(req.ID, req.Grace)
	case OpRemove:
		k.stopAndWait(req.ID, 0)
		k.do(func() {
			if c := k.containers[req.ID]; c != nil {
				err = k.remove(c)
			}
		})
	default:
		err = fmt.Errorf("%q is unknown to this keeper", req.Op)
	}
	return err
}

func (r *Response) fail(err error) {
	r.Error, r.NotFound = err.Error(), errors.Is(err, ErrUnknown)
}

func (k *keeper) list(resp *Response) {
	resp.Sandbox, resp.Closing = k.sandbox, k.closing
	for _, c := range k.containers {
		resp.Containers = append(resp.Containers, c.rec)
	}
	slices.SortFunc(resp.Containers, func(a, b Container) int { return strings.Compare(a.ID, b.ID) })
	for _, err := range k.unsaved {
		resp.Unsaved = err.Error()
	}
}

// stopAndWait stops a container and waits for its end. A caller that is gone
// changes nothing.
func (k *keeper) stopAndWait(id string, grace time.Duration) {
	var done chan struct{}
	k.do(func() {
		if c := k.containers[id]; c != nil && c.running() {
			k.stop(c, grace)
			done = c.done
		}
	})
	if done != nil {
		<-done
	}
}

func (k *keeper) serveWatch(conn *net.UnixConn) {
	news := make(chan struct{}, 1)
	news <- struct{}{}
	k.do(func() { k.watchers[news] = struct{}{} })
	defer k.do(func() { delete(k.watchers, news) })
	hungUp := hangUp(conn)
	for {
		select {
		case <-news:
			if _, err := conn.Write([]byte{1}); err != nil {
				return
			}
		case <-hungUp:
			return
		}
	}
}

// hangUp returns a channel that is closed when the other side is gone, or said
// that it has nothing more to say.
func hangUp(conn *net.UnixConn) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1))
	}()
	return gone
}

// serveExec runs a command until it ends, or until the caller gives up: then it
// is killed with all that it started.
func (k *keeper) serveExec(conn *net.UnixConn, req Request, files []*os.File) {
	var e *execution
	var err error
	k.do(func() { e, err = k.exec(k.containers[req.ID], req.Argv, files) })
	closeAll(files) // the command has its own
	if err != nil {
		var resp Response
		resp.fail(err)
		_ = send(conn, &resp)
		return
	}
	select {
	case <-e.exited:
	case <-hangUp(conn):
		cancelled := false
		k.do(func() {
			k.cancelExec(e)
			cancelled = e.cancelled
		})
		if cancelled {
			<-e.gone
		}
	}
	_ = send(conn, &Response{ExitCode: e.code})
}

func (k *keeper) serveShutdown(conn *net.UnixConn) {
	k.do(func() {
		k.closing = true
		for _, c := range k.containers {
			k.stop(c, 0)
		}
		k.changed()
	})
	<-k.allEnded
	_ = send(conn, &Response{})
	_ = conn.Close()
	k.do(func() { k.answered = true })
}
