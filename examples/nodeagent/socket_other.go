//go:build !linux

package main

import (
	"errors"
	"net"
	"os"
)

// listenOwn listens on the control socket, which the permissions of the root
// keep from others.
func listenOwn(root string) (net.Listener, error) {
	if err := os.Remove(socketOf(root)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", socketOf(root))
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(socketOf(root), 0o600)
}

func dialAgent(root string) (net.Conn, error) { return net.Dial("unix", socketOf(root)) }
