//go:build unix

package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrGone is returned by calls to a keeper that does not live any more.
var ErrGone = errors.New("the keeper of the sandbox is gone")

// ErrUnknown is returned by calls about a container that the keeper has not.
var ErrUnknown = errors.New("the container is unknown to the keeper")

// killWait bounds how long a command that is being killed is waited for.
const killWait = 10 * time.Second

// RemoteError is what a keeper answered, as opposed to a fault on the way.
type RemoteError string

// Error implements error.
func (e RemoteError) Error() string { return string(e) }

// Spawn starts the keeper of a sandbox in its folder, and returns once it
// answers. The caller reaps the process once it is gone.
func Spawn(ctx context.Context, dir string, sandbox *Sandbox) (pid int, err error) {
	listener, err := listen(dir)
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	door, err := listener.File()
	if err != nil {
		return 0, err
	}
	defer door.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	log, err := os.OpenFile(filepath.Join(dir, ErrorLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()

	program, err := thisProgram()
	if err != nil {
		return 0, err
	}
	// What the process table shows is for people.
	name := programName + ": " + sandbox.Namespace + "/" + sandbox.Name
	process, err := os.StartProcess(program, []string{name}, &os.ProcAttr{
		Dir: dir,
		// Nothing of the agent's environment: it may hold secrets. GORACE keeps a
		// program that was built with the race detector from exiting late.
		Env:   []string{"GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0", roleEnv + "=" + programName},
		Files: []*os.File{null, log, log, door},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start keeper: %w", err)
	}
	pid = process.Pid
	// Nobody else holds the door open, so that a keeper that fails is noticed.
	_ = door.Close()
	_ = listener.Close()
	if _, err = Call(ctx, dir, &Request{Op: OpHello, Sandbox: sandbox}); err != nil {
		_ = process.Kill()
		_, _ = process.Wait()
		return 0, fmt.Errorf("start keeper: %w", err)
	}
	_ = process.Release()
	return pid, nil
}

// Call makes one request. It returns ErrGone when no keeper answers. When the
// context ends first, the keeper may still do what was asked.
func Call(ctx context.Context, dir string, req *Request) (*Response, error) {
	resp, err := call(ctx, dir, req)
	return resp, confirmGone(ctx, dir, err)
}

func call(ctx context.Context, dir string, req *Request) (*Response, error) {
	conn, err := dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return exchange(conn, req, nil)
}

// Exec runs a command with the streams. When the context ends first it has the
// command killed, waits for that, and returns the context's error.
func Exec(ctx context.Context, dir, id string, argv []string, streams [3]*os.File) (int, error) {
	conn, err := dial(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	// The keeper takes the end of what is sent for the wish to give up.
	defer context.AfterFunc(ctx, func() {
		_ = conn.SetReadDeadline(time.Now().Add(killWait))
		_ = conn.CloseWrite()
	})()
	resp, err := exchange(conn, &Request{Op: OpExec, ID: id, Argv: argv}, streams[:])
	if err := confirmGone(ctx, dir, err); err != nil {
		return 0, err
	}
	return resp.ExitCode, ctx.Err()
}

// Watch calls notify at once and after each change, until the keeper is gone
// (ErrGone) or the context ends.
func Watch(ctx context.Context, dir string, notify func()) error {
	conn, err := dial(ctx, dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := send(conn, &Request{Op: OpWatch}); err != nil {
		return confirmGone(ctx, dir, err)
	}
	news := make([]byte, 1)
	for {
		if _, err := conn.Read(news); err != nil {
			return confirmGone(ctx, dir, err)
		}
		notify()
	}
}

func exchange(conn *net.UnixConn, req *Request, files []*os.File) (*Response, error) {
	if err := send(conn, req, files...); err != nil {
		return nil, err
	}
	closeAll(files) // a command may run for hours
	var resp Response
	if _, err := receive(conn, &resp, maxAnswer); err != nil {
		return nil, err
	}
	if resp.NotFound {
		return nil, ErrUnknown
	}
	if resp.Error != "" {
		return nil, RemoteError(resp.Error)
	}
	return &resp, nil
}

// confirmGone returns the error of a call that broke off as what it means:
// ErrGone only if no keeper listens any more. One that is about to exit may
// still do so for a moment.
func confirmGone(ctx context.Context, dir string, err error) error {
	var remote RemoteError
	if err == nil || errors.As(err, &remote) || errors.Is(err, ErrUnknown) || errors.Is(err, ErrGone) {
		return err
	}
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for range 500 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch _, listErr := call(ctx, dir, &Request{Op: OpList}); {
		case listErr == nil:
			return fmt.Errorf("the keeper hung up: %w", err)
		case errors.Is(listErr, ErrGone):
			return listErr
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
	return err
}

// refused tells whether a failure to connect means that nobody listens.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

func dial(ctx context.Context, dir string) (*net.UnixConn, error) {
	path, done, err := socketPath(dir)
	if err == nil {
		defer done()
		var conn net.Conn
		if conn, err = new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
			return conn.(*net.UnixConn), nil
		}
	}
	if refused(err) {
		return nil, ErrGone
	}
	return nil, err
}

func listen(dir string) (*net.UnixListener, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	return listener, os.Chmod(filepath.Join(dir, Socket), 0o600)
}

// maxSocketPath is what every system takes as the address of a socket.
const maxSocketPath = 100

// socketPath returns a path of the sandbox's socket that is short enough to be
// an address, valid until done is called.
func socketPath(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, Socket)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	return shortPath(dir)
}
