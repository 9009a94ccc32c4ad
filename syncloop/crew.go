package syncloop

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// workers runs jobs, each in a goroutine that ends with it. The loop alone
// calls its methods.
type workers struct {
	ctx   context.Context
	limit int
	busy  int
	// slow is how many of the busy ones take their time: beside them others begin.
	// were is how many were busy at the last look, and ended how many ended since.
	slow, were, ended int
	// urgent jobs stop pods; they go before those that start some.
	urgent, queue []work
	group         sync.WaitGroup
	spawn         spawnFunc
	// later has the loop call look in a moment; asked tells that it will.
	later func()
	asked bool
}

// work is called by the loop when its turn has come, and returns the job.
type work func() (job func())

// just is work that needs nothing but its job.
func just(job func()) work { return func() func() { return job } }

// burst is how many jobs are begun at a time where no limit is set. A hundred
// thousand goroutines at once would make each of them dearer: the garbage collector
// walks their stacks.
const burst = 1024

// burstTime is the time between two looks. Who is busy at both is slow, and makes
// room for another one.
const burstTime = time.Second

// workersPass is the timer of the jobs that wait. No pod has such a UID.
const workersPass types.UID = "\x00workers"

func (w *workers) start(ctx context.Context, limit int) { w.ctx, w.limit = ctx, limit }

// run runs the work's job as soon as there is room.
func (w *workers) run(urgent bool, do work) {
	switch {
	case w.room(urgent):
		w.begin(do)
	case urgent:
		w.urgent = append(w.urgent, do)
	default:
		w.queue = append(w.queue, do)
		w.ask()
	}
}

// room tells whether another job may begin. One that stops a pod waits for a limit
// that was set alone.
func (w *workers) room(urgent bool) bool {
	if w.limit > 0 {
		return w.busy < w.limit
	}
	return urgent || w.busy-w.slow < burst
}

func (w *workers) begin(do work) {
	w.busy++
	w.spawn(&w.group, "worker", do())
}

// done makes room for the next job.
func (w *workers) done() {
	w.busy--
	w.ended++
	w.slow = min(w.slow, w.busy)
	w.next()
}

// look finds how many have been at work since the last look: whoever began first is
// taken to have ended first.
func (w *workers) look() {
	w.asked = false
	w.slow = max(w.were-w.ended, 0)
	w.next()
	if len(w.queue) > 0 {
		w.ask()
	}
}

func (w *workers) ask() {
	if w.limit <= 0 && !w.asked {
		w.asked = true
		w.were, w.ended = w.busy, 0
		w.later()
	}
}

// next begins what waits, as far as there is room.
func (w *workers) next() {
	for _, queue := range [...]*[]work{&w.urgent, &w.queue} {
		for len(*queue) > 0 && w.room(false) {
			do := (*queue)[0]
			(*queue)[0] = nil // the place is not used again, and must hold nothing
			*queue = (*queue)[1:]
			w.begin(do)
		}
	}
}

func (w *workers) wait() { w.group.Wait() }
