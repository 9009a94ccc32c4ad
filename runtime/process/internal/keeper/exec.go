//go:build unix

package keeper

import (
	"fmt"
	"os"
	"strconv"
)

// execution is a command that runs in a container besides its own.
type execution struct {
	pid    int
	marker string
	code   int
	ended  bool
	exited chan struct{} // closed when the command ended

	cancelled bool
	gone      chan struct{} // closed when, after a cancellation, nothing of it lives
}

// exec starts a command in a running container.
func (k *keeper) exec(c *container, argv []string, files []*os.File) (*execution, error) {
	if c == nil {
		return nil, ErrUnknown
	}
	if c.phase != phaseRunning {
		return nil, fmt.Errorf("the container is not running")
	}
	if len(argv) == 0 || len(files) != 3 {
		return nil, fmt.Errorf("incomplete request")
	}
	path, err := lookPath(argv[0], c.cmd.Env)
	if err != nil {
		return nil, err
	}
	k.execSeq++
	e := &execution{
		marker: c.rec.ID + "." + strconv.Itoa(k.execSeq),
		exited: make(chan struct{}),
		gone:   make(chan struct{}),
	}
	if e.pid, err = k.forkers.fork(path, c.cmd, argv, e.marker, files); err != nil {
		return nil, err
	}
	k.execs[e.pid] = e
	return e, nil
}

// execEnded is called when the command was reaped. What it left in the
// background stays, as a part of the container.
func (k *keeper) execEnded(e *execution, code int) {
	e.code, e.ended = code, true
	close(e.exited)
	if !e.cancelled {
		delete(k.execs, e.pid)
	}
}

// cancelExec kills the command and all that it started.
func (k *keeper) cancelExec(e *execution) {
	if !e.ended {
		e.cancelled = true
		k.sweepAll(false)
	}
}

func (k *keeper) execGone(e *execution) {
	if e.ended {
		delete(k.execs, e.pid)
		close(e.gone)
	}
}
