//go:build unix

package keeper

import (
	"strings"
	"time"
)

// sweepAgain is when a sweep is repeated that no ending child repeats: for a
// process that forked between the look and the kill.
const sweepAgain = 20 * time.Millisecond

// killedProcess is one that a sweep has killed. On its way out it loses its
// environment, and with that its marker, before it is a zombie.
type killedProcess struct {
	ticks uint64
	owner string
}

// unclaimed are processes that nobody could be told to own, by their PIDs. One that is
// about to become another program has no environment for a moment, and so no marker:
// only one that is still without an owner a while later is nobody's.
type unclaimed map[int]unclaimedProcess

type unclaimedProcess struct {
	ticks uint64
	since time.Time
}

// note takes up a process that has no owner, into what the next look finds, and tells
// whether it may have one yet.
func (u unclaimed) note(p Process, now time.Time, next unclaimed) (mayYet bool) {
	seen, ok := u[p.PID]
	if !ok || seen.ticks != p.Ticks {
		seen = unclaimedProcess{p.Ticks, now}
	}
	next[p.PID] = seen
	return now.Sub(seen.since) < sweepAgain
}

// sweepAll goes on with every container and command that is about to end. Where
// the keeper has no child left, nothing of them lives.
func (k *keeper) sweepAll(childless bool) {
	again := false
	for _, c := range k.containers {
		if c.phase == phaseSweeping {
			if (childless && inheritsOrphans) || !k.killMembers(c) {
				k.swept(c)
			} else {
				again = true
			}
		}
	}
	for _, e := range k.execs {
		if e.cancelled {
			if (childless && inheritsOrphans) || !k.killExec(e) {
				k.execGone(e)
			} else {
				again = true
			}
		}
	}
	if again && k.sweeper == nil {
		k.sweeper = time.AfterFunc(sweepAgain, func() {
			k.do(func() {
				k.sweeper = nil
				k.reap()
			})
		})
	}
}

// killMembers kills what belongs to a container, and tells whether there was
// anything. With the last running container goes everything: what can't be told
// to belong to anybody was left by this one or by one before it.
func (k *keeper) killMembers(c *container) bool {
	last := true
	for _, other := range k.containers {
		last = last && (other == c || !other.running())
	}
	return k.killOwned(c.rec.PID, func(owner string) bool {
		return last || belongs(owner, c.rec.ID)
	})
}

func (k *keeper) killExec(e *execution) bool {
	return k.killOwned(e.pid, func(owner string) bool { return owner == e.marker })
}

// belongs tells whether the owner is the container or a command in it.
func belongs(owner, id string) bool {
	return owner == id || strings.HasPrefix(owner, id+".")
}

// roots are the processes that the keeper started and has not seen the end of,
// with their owners; sessions also those that are being swept.
func (k *keeper) roots() (roots, sessions map[int]string) {
	roots, sessions = map[int]string{}, map[int]string{}
	for _, c := range k.containers {
		if c.phase == phaseRunning {
			roots[c.rec.PID] = c.rec.ID
		}
		if c.running() {
			sessions[c.rec.PID] = c.rec.ID
		}
	}
	for pid, e := range k.execs {
		if !e.ended {
			roots[pid] = e.marker
		}
		sessions[pid] = e.marker
	}
	return roots, sessions
}
