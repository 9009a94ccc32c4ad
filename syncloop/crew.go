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
	urgent, queue []func()
	group         sync.WaitGroup
	spawn         spawnFunc
	// later has the loop call look in a moment; asked tells that it will.
	later func()
	asked bool
}

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

// run runs the job as soon as there is room.
func (w *workers) run(urgent bool, job func()) {
	switch {
	case w.room(urgent):
		w.begin(job)
	case urgent:
		w.urgent = append(w.urgent, job)
	default:
		w.queue = append(w.queue, job)
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

func (w *workers) begin(job func()) {
	w.busy++
	w.spawn(&w.group, "worker", job)
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
	for _, queue := range []*[]func(){&w.urgent, &w.queue} {
		for len(*queue) > 0 && w.room(false) {
			job := (*queue)[0]
			*queue = (*queue)[1:]
			w.begin(job)
		}
	}
}

func (w *workers) wait() { w.group.Wait() }
