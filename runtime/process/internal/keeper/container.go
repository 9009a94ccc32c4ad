//go:build unix

package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A container's life in the keeper. Between the end of its first process and
// its own it is swept: everything else that it started is killed and reaped,
// and the rest of its output read.
type phase int

const (
	phaseCreated phase = iota
	phaseRunning
	phaseSweeping // the first process ended, others may live
	phaseDraining // nothing lives, output is being read
	phaseExited
)

type container struct {
	rec   Container
	cmd   Command
	phase phase
	out   *output
	done  chan struct{} // closed when it ended and that is recorded

	status   syscall.WaitStatus
	deadline time.Time // of a stop; zero without one
	killer   *time.Timer

	outputEnded bool
}

func (c *container) running() bool { return c.phase > phaseCreated && c.phase < phaseExited }

func (k *keeper) create(rec *Container, cmd *Command) error {
	switch {
	case rec == nil || cmd == nil || rec.ID == "" || len(cmd.Argv) == 0:
		return errors.New("incomplete request")
	case k.closing:
		return errors.New("the sandbox is being stopped")
	case k.containers[rec.ID] != nil:
		return fmt.Errorf("container %s exists", rec.ID)
	}
	for _, c := range k.containers {
		if c.rec.Name == rec.Name && c.rec.Attempt == rec.Attempt {
			return fmt.Errorf("attempt %d of container %q is taken by %s", rec.Attempt, rec.Name, c.rec.ID)
		}
	}
	c := &container{rec: *rec, cmd: *cmd, done: make(chan struct{})}
	c.rec.State = Created
	if err := k.save(c); err != nil {
		return err
	}
	k.containers[rec.ID] = c
	k.changed()
	return nil
}

func (k *keeper) start(c *container) error {
	if k.closing {
		return errors.New("the sandbox is being stopped")
	}
	if c.phase != phaseCreated {
		return fmt.Errorf("container %s was started before", c.rec.ID)
	}
	c.rec.StartedAt = time.Now()
	pid, err := k.launch(c)
	if err != nil {
		k.failStart(c, err)
		return err
	}
	c.phase = phaseRunning
	c.rec.State, c.rec.PID, c.rec.Ticks, c.rec.Boot = Running, pid, Ticks(pid), k.boot
	k.saveOrRetry(c)
	k.changed()
	return nil
}

// launch starts the container's first process with its output in the log.
func (k *keeper) launch(c *container) (pid int, err error) {
	path, err := lookPath(c.cmd.Argv[0], c.cmd.Env)
	if err != nil {
		return 0, err
	}
	out, stdout, stderr, err := openOutput(c.rec.LogPath, c.cmd.MaxLogBytes, c.cmd.MaxLogFiles)
	if err != nil {
		return 0, err
	}
	defer stdout.Close()
	defer stderr.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		out.discard()
		return 0, err
	}
	defer null.Close()
	pid, err = k.forkers.fork(path, c.cmd, c.cmd.Argv, c.rec.ID, []*os.File{null, stdout, stderr})
	if err != nil {
		out.discard()
		return 0, err
	}
	c.out = out
	out.copy(func() { k.do(func() { k.drained(c) }) })
	return pid, nil
}

// failStart records a container that never ran, with the exit code and reason
// that runtimes have for it.
func (k *keeper) failStart(c *container, err error) {
	c.rec.FinishedAt = time.Now()
	c.rec.State, c.rec.ExitCode = Exited, 128
	c.rec.Reason, c.rec.Message = "StartError", err.Error()
	c.phase = phaseExited
	k.exited(c)
}

// stop asks the container to end before the deadline; an earlier one than was
// set before takes its place.
func (k *keeper) stop(c *container, grace time.Duration) {
	if c.phase != phaseRunning {
		return
	}
	first := c.deadline.IsZero()
	deadline := time.Now().Add(max(grace, 0))
	if !first && !deadline.Before(c.deadline) {
		return
	}
	c.deadline = deadline
	if c.killer != nil {
		c.killer.Stop()
	}
	if grace <= 0 {
		k.kill(c)
		return
	}
	if first {
		_ = syscall.Kill(-c.rec.PID, syscall.Signal(c.cmd.StopSignal))
	}
	c.killer = time.AfterFunc(grace, func() { k.do(func() { k.kill(c) }) })
}

// kill ends the first process and its group; the rest follows when it ended.
func (k *keeper) kill(c *container) {
	if c.phase == phaseRunning {
		_ = syscall.Kill(-c.rec.PID, syscall.SIGKILL)
	}
}

// mainEnded is called when the first process was reaped. A sweep follows.
func (k *keeper) mainEnded(c *container, status syscall.WaitStatus) {
	c.rec.FinishedAt, c.status = endAfter(c.rec.StartedAt, time.Now()), status
	c.phase = phaseSweeping
	if c.killer != nil {
		c.killer.Stop()
	}
}

// endAfter is the time of an end, which is not before the start although the
// clock of the machine was set back.
func endAfter(start, now time.Time) time.Time {
	if start, now = start.Round(0), now.Round(0); now.Before(start) {
		return start
	}
	return now
}

// swept is called when no process of the container lives any more.
func (k *keeper) swept(c *container) {
	c.phase = phaseDraining
	if c.outputEnded {
		k.recordEnd(c)
		return
	}
	c.out.finish()
}

// drained is called when all output was read and written.
func (k *keeper) drained(c *container) {
	c.outputEnded = true
	if c.phase == phaseDraining {
		k.recordEnd(c)
	}
}

func (k *keeper) recordEnd(c *container) {
	code := exitCode(c.status)
	c.rec.State, c.rec.ExitCode, c.rec.Reason = Exited, int32(code), "Completed"
	if code != 0 {
		c.rec.Reason = "Error"
	}
	c.phase = phaseExited
	k.exited(c)
}

func (k *keeper) exited(c *container) {
	c.cmd = Command{} // nobody needs the environment any more
	k.saveOrRetry(c)
	close(c.done)
	k.changed()
}

// remove forgets a container that ended or never ran.
func (k *keeper) remove(c *container) error {
	if c.running() {
		return fmt.Errorf("container %s runs", c.rec.ID)
	}
	if err := k.records.Remove(recordName(c.rec.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(k.containers, c.rec.ID)
	delete(k.unsaved, c.rec.ID)
	k.changed()
	return os.RemoveAll(HomePrefix + Suffix(c.rec.ID))
}

// lookPath finds a program as a shell would, by the PATH of the container.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, e := range env {
		if list, ok := strings.CutPrefix(e, "PATH="); ok {
			for _, dir := range filepath.SplitList(list) {
				path := filepath.Join(dir, name)
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
					return path, nil
				}
			}
		}
	}
	return "", fmt.Errorf("%q: executable file not found in $PATH", name)
}
