//go:build unix

package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/kubeparts/kubeparts/internal/durable"
)

// diskFaults is set by tests, to let a keeper's disk fail.
var diskFaults durable.Faults

// folderLook is how often a keeper sees whether its folder is still there; tests
// set it. Once that is gone nobody can reach it any more, to end it or to start
// something: it ends by itself when nothing runs.
var folderLook = time.Minute

// keeper is the state of the process. It belongs to the goroutine of run;
// others hand it functions through do.
type keeper struct {
	records    *durable.Folder
	boot       string
	sandbox    *Sandbox
	containers map[string]*container
	execs      map[int]*execution // by PID
	execSeq    int
	killed     map[int]killedProcess // by PID
	unclaimed  unclaimed
	watchers   map[chan struct{}]struct{}
	unsaved    map[string]error // containers whose record is older than they are
	retry      *time.Timer
	retryAfter time.Duration
	forkers    forkers
	sweeper    *time.Timer
	closing    bool
	answered   bool          // somebody was told that all ended
	allEnded   chan struct{} // closed when closing and nothing runs any more
	calls      chan func()
}

func newKeeper(dir string) (*keeper, error) {
	records, err := durable.Open(dir, diskFaults)
	if err != nil {
		return nil, err
	}
	return &keeper{
		records:    records,
		boot:       BootID(),
		containers: map[string]*container{},
		execs:      map[int]*execution{},
		watchers:   map[chan struct{}]struct{}{},
		unsaved:    map[string]error{},
		allEnded:   make(chan struct{}),
		calls:      make(chan func()),
	}, nil
}

// do runs f on the keeper's goroutine and waits until it returned.
func (k *keeper) do(f func()) {
	done := make(chan struct{})
	k.calls <- func() { f(); close(done) }
	<-done
}

// run serves until the sandbox is shut down. It must be called on the main
// thread.
func (k *keeper) run(listener *net.UnixListener) error {
	runtime.LockOSThread()
	if err := becomeSubreaper(); err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	// Taken, not ignored: what a process ignores, its children ignore too.
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)

	go k.accept(listener)
	look := time.NewTicker(folderLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if k.idle() && k.folderGone() {
				return nil
			}
		case f := <-k.calls:
			f()
		case <-children:
			k.reap()
		case <-taken:
		}
		if k.closing && k.idle() && k.over() {
			return nil
		}
	}
}

// over tells those who wait that nothing runs any more, and whether the keeper
// may go: not before somebody was answered and all is recorded.
func (k *keeper) over() bool {
	select {
	case <-k.allEnded:
	default:
		close(k.allEnded)
	}
	return k.answered && len(k.unsaved) == 0
}

// idle tells whether no container runs.
func (k *keeper) idle() bool {
	for _, c := range k.containers {
		if c.running() {
			return false
		}
	}
	return true
}

// reap collects every child that ended, and goes on with the containers that
// are about to end.
func (k *keeper) reap() {
	childless := false
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			childless = errors.Is(err, syscall.ECHILD)
			break
		}
		k.ended(pid, status)
	}
	k.sweepAll(childless)
}

func (k *keeper) ended(pid int, status syscall.WaitStatus) {
	if e := k.execs[pid]; e != nil {
		k.execEnded(e, exitCode(status))
		return
	}
	for _, c := range k.containers {
		if c.rec.PID == pid && c.phase == phaseRunning {
			k.mainEnded(c, status)
			return
		}
	}
}

// exitCode is what a shell would call it: 128 and the signal's number for a
// process that a signal ended.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// changed tells the watchers.
func (k *keeper) changed() {
	for w := range k.watchers {
		select {
		case w <- struct{}{}:
		default: // one is on its way already
		}
	}
}

// save writes a container's record. When that fails it is tried again until it
// succeeds; what the keeper answers is right meanwhile.
func (k *keeper) save(c *container) error {
	data, err := json.Marshal(&c.rec)
	if err == nil {
		err = k.records.Write(recordName(c.rec.ID), data)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) && k.folderGone() {
		delete(k.unsaved, c.rec.ID)
		return nil
	}
	return err
}

func (k *keeper) saveOrRetry(c *container) {
	err := k.save(c)
	if err == nil {
		if len(k.unsaved) == 0 {
			k.retryAfter = 0
		}
		return
	}
	k.unsaved[c.rec.ID] = err
	if k.retry == nil {
		k.retryAfter = min(max(2*k.retryAfter, 100*time.Millisecond), 30*time.Second)
		k.retry = time.AfterFunc(k.retryAfter, func() { k.do(k.saveAgain) })
	}
}

func (k *keeper) saveAgain() {
	k.retry = nil
	for id := range k.unsaved {
		if c := k.containers[id]; c != nil {
			k.saveOrRetry(c)
		} else {
			delete(k.unsaved, id)
		}
	}
}

// folderGone tells whether the sandbox's folder was removed under the keeper:
// then there is no place to record anything, and nobody who would read it.
func (k *keeper) folderGone() bool {
	_, err := syscall.Getwd()
	return errors.Is(err, fs.ErrNotExist)
}

// Suffix is the part of a container's ID that tells it from the others of its
// sandbox.
func Suffix(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

func recordName(id string) string { return ContainerPrefix + Suffix(id) }
