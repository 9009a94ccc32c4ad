//go:build unix

package keeper

import (
	"os"
	"runtime"
	"syscall"
)

// forkers start processes. A process that must not gain privileges is forked
// from a thread of its own that gave them up: the kernel ties that to the
// thread, and there is no way back.
type forkers struct {
	unprivileged chan func()
	failed       error
}

// fork starts a process in a session of its own.
func (f *forkers) fork(path string, cmd Command, argv []string, marker string, files []*os.File) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Dir: cmd.Dir,
		Env: append(cmd.Env[:len(cmd.Env):len(cmd.Env)], Marker+"="+marker),
		Sys: childAttr(cmd.User),
	}
	for _, file := range files {
		attr.Files = append(attr.Files, file.Fd())
	}
	start := func() { pid, err = syscall.ForkExec(path, argv, attr) }
	if !cmd.NoNewPrivs {
		start()
	} else if err = f.onUnprivilegedThread(start); err != nil {
		return 0, err
	}
	runtime.KeepAlive(files)
	if err != nil {
		return 0, &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return pid, nil
}

// onUnprivilegedThread runs start there. The thread lives as long as the
// keeper: it is the parent whose death its children would follow.
func (f *forkers) onUnprivilegedThread(start func()) error {
	if f.unprivileged == nil {
		f.unprivileged = make(chan func())
		ready := make(chan error)
		go func() {
			runtime.LockOSThread()
			ready <- forbidNewPrivileges()
			for call := range f.unprivileged {
				call()
			}
		}()
		f.failed = <-ready
	}
	if f.failed != nil {
		return f.failed
	}
	done := make(chan struct{})
	f.unprivileged <- func() { start(); close(done) }
	<-done
	return nil
}
