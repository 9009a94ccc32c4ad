package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// inRoot calls f with a short path to the root: the path of a socket may not be
// longer than 108 bytes, and a root may.
func inRoot(root string, f func(short string) error) error {
	dir, err := os.Open(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
}

// sameUser wraps a listener so that it takes connections of this user, and of
// root, alone.
type sameUser struct{ *net.UnixListener }

func (l sameUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peer(conn); err == nil && (uid == 0 || int(uid) == os.Geteuid()) {
			return conn, nil
		}
		conn.Close()
	}
}

func peer(conn *net.UnixConn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, credErr); err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// listenOwn listens on the control socket. One that a dead agent left is
// replaced: the root's lock says that it is dead.
func listenOwn(root string) (net.Listener, error) {
	var listener *net.UnixListener
	err := inRoot(root, func(short string) error {
		path := filepath.Join(short, filepath.Base(socketOf(root)))
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		var err error
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			return err
		}
		listener.SetUnlinkOnClose(false) // by a path that is not valid any more then
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		return nil, err
	}
	return sameUser{listener}, nil
}

func dialAgent(root string) (conn net.Conn, err error) {
	err = inRoot(root, func(short string) error {
		conn, err = net.Dial("unix", filepath.Join(short, filepath.Base(socketOf(root))))
		return err
	})
	return conn, err
}
