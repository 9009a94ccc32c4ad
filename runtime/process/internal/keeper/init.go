//go:build unix

package keeper

import (
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
)

// A process is a keeper when both its name and this variable say so: neither a
// program that happens to have the name nor a container that is given the
// variable becomes one.
const (
	programName = "kubeparts-keeper"
	roleEnv     = "KUBEPARTS_ROLE"
	listenerFD  = 3
)

func init() {
	if os.Getenv(roleEnv) != programName || !strings.HasPrefix(os.Args[0], programName) {
		return
	}
	if err := serveAsKeeper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveAsKeeper runs the keeper of the sandbox whose folder is the working
// directory, on the listening socket that came as a descriptor.
func serveAsKeeper() error {
	// Few objects live here; a small heap matters more than the time of a
	// collection.
	debug.SetGCPercent(20)
	closeInherited()
	file := os.NewFile(listenerFD, Socket)
	listener, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("keeper: no socket: %w", err)
	}
	_ = file.Close()
	unixListener, ok := listener.(*net.UnixListener)
	if !ok {
		return fmt.Errorf("keeper: descriptor %d is no unix socket", listenerFD)
	}
	k, err := newKeeper(".")
	if err != nil {
		return err
	}
	return k.run(unixListener)
}
