package keeper

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inheritsOrphans: what loses its parent becomes the keeper's child.
const inheritsOrphans = true

func becomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("can't become subreaper: %w", err)
	}
	return nil
}

// closeInherited closes what came from the agent's own parent through the agent:
// a keeper would hold it open for as long as the pod runs, and its containers
// too. What this program opened itself is marked to be closed on exec.
func closeInherited() {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range fds {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= listenerFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// forbidNewPrivileges holds for this thread and all that is forked from it.
func forbidNewPrivileges() error {
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

func childAttr(user *User) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if user != nil {
		attr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID, Groups: user.Groups}
	}
	return attr
}

// killOwned kills the keeper's descendants whose owner is wanted, and tells
// whether there were any, or one that may turn out to be. What may not be killed (a
// setuid program, without root's rights) does not count: nothing would ever change.
func (k *keeper) killOwned(_ int, wanted func(owner string) bool) bool {
	procs, err := Processes()
	if err != nil {
		return true // no descriptors left, for the moment
	}
	roots, sessions := k.roots()
	owners := Owners(procs, os.Getpid(), roots, sessions, MarkerOf)
	any, now := false, time.Now()
	killed, nobodys := make(map[int]killedProcess, len(k.killed)), unclaimed{}
	for _, p := range procs {
		owner, descends := owners[p.PID]
		if before, ok := k.killed[p.PID]; ok && before.ticks == p.Ticks {
			killed[p.PID] = before
			owner = cmp.Or(owner, before.owner)
		}
		if !descends || p.Zombie {
			continue
		}
		if !wanted(owner) {
			any = owner == "" && k.unclaimed.note(p, now, nobodys) || any
			continue
		}
		if syscall.Kill(p.PID, syscall.SIGKILL) == nil {
			killed[p.PID] = killedProcess{p.Ticks, owner}
			any = true
		}
	}
	k.killed, k.unclaimed = killed, nobodys
	return any
}

// Processes reads all processes of the machine.
func Processes() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	procs := make([]Process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := ReadProcess(pid)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			return nil, err
		}
		if err == nil {
			procs = append(procs, p)
		}
	}
	return procs, nil
}

// ReadProcess reads one process.
func ReadProcess(pid int) (Process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	return parseStat(pid, stat)
}

// parseStat reads /proc/PID/stat. The program's name comes second, in
// parentheses, and may hold anything, parentheses too.
func parseStat(pid int, stat []byte) (Process, error) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("process %d: stat is too short", pid)
	}
	number := func(field int) uint64 { // as proc(5) counts, from 1
		n, _ := strconv.ParseUint(fields[field-3], 10, 64)
		return n
	}
	return Process{
		PID:     pid,
		Zombie:  fields[0] == "Z" || fields[0] == "X",
		Parent:  int(number(4)),
		Session: int(number(6)),
		CPU:     number(14) + number(15) + number(16) + number(17),
		Threads: number(20),
		Ticks:   number(22),
	}, nil
}

// Ticks is the start time of a process, 0 when there is none.
func Ticks(pid int) uint64 {
	p, err := ReadProcess(pid)
	if err != nil {
		return 0
	}
	return p.Ticks
}

// MarkerOf returns the marker in the environment that a process was started
// with, "" when it has none or may not be read.
func MarkerOf(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(e, []byte(Marker+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// Keepers are the keepers that live in a sandbox's folder, although they may not
// be reached there any more: because the folder was removed under them, or their
// socket, or because somebody stopped them.
func Keepers(dir string) []int {
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(parent, filepath.Base(dir))
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		folder, err := os.Readlink("/proc/" + e.Name() + "/cwd")
		if err != nil || strings.TrimSuffix(folder, " (deleted)") != dir {
			continue
		}
		if args, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && bytes.HasPrefix(args, []byte(programName)) {
			found = append(found, pid)
		}
	}
	return found
}

// BootID names this run of the machine.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
