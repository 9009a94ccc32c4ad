package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// fuzzed drives a life with events drawn from bytes, carries out its actions as
// a driver would, and checks what must hold after each step.
type fuzzed struct {
	t     *testing.T
	s     lifecycle.State
	rules lifecycle.Rules
	now   time.Time

	// inFlight are works that have not come back, true while they are in force.
	inFlight map[uint64]bool
	waiting  map[lifecycle.Waiter]bool
	waiters  lifecycle.Waiter
	named    bool
	over     bool // forgotten
}

var order = map[lifecycle.Stage]int{"": 0, lifecycle.Sync: 1, lifecycle.Terminating: 2, lifecycle.Terminated: 3, lifecycle.Finished: 4}

func (f *fuzzed) send(e lifecycle.Event) {
	before := f.s
	next, actions := f.rules.Step(f.s, e, f.now)
	f.s = next
	anew := false
	var follow []lifecycle.Event
	for _, a := range actions {
		switch a := a.(type) {
		case lifecycle.Start:
			for seq, inForce := range f.inFlight {
				require.False(f.t, inForce, "work %d began beside work %d", a.Seq, seq)
			}
			require.NotContains(f.t, f.inFlight, a.Seq, "a number is used once")
			f.inFlight[a.Seq] = true
		case lifecycle.Cancel:
			require.True(f.t, f.inFlight[a.Seq], "what is cancelled is in force")
			f.inFlight[a.Seq] = false
		case lifecycle.Complete:
			for _, w := range a.Waiters {
				require.True(f.t, f.waiting[w], "a waiter is completed once")
				delete(f.waiting, w)
			}
		case lifecycle.AcquireName:
			f.named = true
		case lifecycle.ReleaseName:
			require.True(f.t, f.named)
			f.named = false
		case lifecycle.Recreate:
			anew = true
			follow = append(follow, lifecycle.Update{Pod: pod(), Create: true})
		case lifecycle.Forget:
			anew, f.over = true, true
		}
	}
	f.check(before, anew)
	for _, e := range follow {
		f.send(e)
	}
}

func (f *fuzzed) check(before lifecycle.State, anew bool) {
	s := f.s
	if anew {
		require.Empty(f.t, f.waiting, "nobody waits for a life that is over")
		require.False(f.t, f.named, "it holds no name any more")
		return
	}
	require.GreaterOrEqual(f.t, order[s.Stage], order[before.Stage], "a life never goes back")
	if before.TerminationRequested() {
		require.True(f.t, s.TerminationRequested(), "an end is never lost")
		require.LessOrEqual(f.t, s.Grace, before.Grace, "grace never grows")
		require.False(f.t, s.Deadline.After(before.Deadline), "a deadline never moves back")
	}
	if s.TerminationRequested() {
		require.GreaterOrEqual(f.t, s.Grace, time.Second)
	}
	if before.Verdict != nil {
		require.Equal(f.t, before.Verdict, s.Verdict, "the first verdict holds")
	}
	if s.Stage == lifecycle.Terminated || s.Stage == lifecycle.Finished {
		require.Empty(f.t, f.waiting, "a pod that has stopped keeps nobody waiting")
		require.Zero(f.t, s.Lingers, "a pod has not stopped while a sync may still start something")
	}
	if s.Work != "" {
		require.True(f.t, f.inFlight[s.Seq])
	}
	switch s.Stage {
	case lifecycle.Sync:
		idle := s.Work == "" && s.Due.IsZero() && s.Started
		require.False(f.t, idle, "a pod that should run is never left alone")
	case lifecycle.Terminating, lifecycle.Terminated:
		idle := s.Work == "" && s.Due.IsZero() && s.Lingers == 0
		require.False(f.t, idle, "an end is never left alone")
	}
}

// draw makes an event of two bytes.
func (f *fuzzed) draw(kind, arg byte) lifecycle.Event {
	someSeq := func() uint64 {
		seqs := make([]uint64, 0, len(f.inFlight))
		for seq := range f.inFlight {
			seqs = append(seqs, seq)
		}
		if len(seqs) == 0 || arg > 250 {
			return uint64(arg)
		}
		lowest := seqs[0]
		for _, seq := range seqs {
			lowest = min(lowest, seq)
		}
		if arg%2 == 0 {
			return lowest
		}
		return f.s.Seq
	}
	switch kind % 14 {
	case 0, 1:
		p := pod()
		if arg&1 != 0 {
			p.Status.Phase = v1.PodFailed
		}
		if arg&2 != 0 {
			deleted(p)
			p.DeletionGracePeriodSeconds = new(int64(arg))
		}
		return lifecycle.Update{Pod: p, Create: arg&4 != 0, Static: arg&8 != 0, Observed: arg&16 != 0, Running: arg&32 != 0, Ended: arg&64 != 0}
	case 2:
		return lifecycle.Removed{}
	case 3:
		return lifecycle.Stray{}
	case 4:
		return lifecycle.Resume{Since: f.now.Add(-time.Duration(arg) * time.Second), Grace: 30 * time.Second}
	case 5:
		f.waiters++
		f.waiting[f.waiters] = true
		return lifecycle.Kill{Grace: time.Duration(arg%64) * time.Second, Now: arg&64 != 0, Evict: arg&128 != 0, Verdict: evicted, Waiter: f.waiters}
	case 6:
		return lifecycle.Discard{}
	case 7:
		return lifecycle.NameGranted{}
	case 8:
		return lifecycle.Poke{}
	case 9:
		f.now = f.now.Add(time.Duration(arg) * time.Second)
		return lifecycle.Due{}
	case 10:
		// The clock jumps, by years too.
		f.now = f.now.AddDate(int(int8(arg)), 0, 0)
		return lifecycle.Due{}
	default:
		d := lifecycle.Done{Seq: someSeq(), Terminal: arg&4 != 0, Again: arg&8 != 0}
		if arg&16 != 0 {
			d.Err = errWork
		}
		if arg&32 != 0 {
			d.RetryAt = f.now.Add(time.Duration(int8(arg)) * time.Hour)
		}
		if arg&64 != 0 {
			d.Verdict = rejected
		}
		return d
	}
}

func FuzzStep(f *testing.F) {
	f.Add([]byte{0, 4, 13, 1, 2, 0, 13, 1, 13, 1, 13, 1})
	f.Add([]byte{0, 12, 7, 0, 5, 3, 13, 2, 13, 1, 13, 1})
	f.Add([]byte{3, 0, 0, 4, 13, 1, 13, 1})
	f.Add([]byte{0, 4, 5, 30, 5, 2, 13, 17, 9, 200, 13, 1, 13, 2, 4, 9, 6, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &fuzzed{
			t: t, s: lifecycle.State{UID: "u"}, now: t0,
			inFlight: map[uint64]bool{}, waiting: map[lifecycle.Waiter]bool{},
		}
		for ; len(data) >= 2 && !w.over; data = data[2:] {
			e := w.draw(data[0], data[1])
			if d, ok := e.(lifecycle.Done); ok {
				if _, known := w.inFlight[d.Seq]; known {
					delete(w.inFlight, d.Seq)
				} else if d.Seq == w.s.Seq || d.Seq == w.s.Lingers {
					continue
				}
			}
			w.send(e)
		}
		w.finish()
	})
}

// finish removes the pod and lets all work go well: the life must come to its
// end, and everybody who waits be told.
func (f *fuzzed) finish() {
	if f.over || f.s.Stage == "" {
		return
	}
	f.send(lifecycle.Removed{})
	for range 50 {
		if f.over {
			require.Empty(f.t, f.waiting)
			return
		}
		for seq := range f.inFlight {
			delete(f.inFlight, seq)
			f.send(lifecycle.Done{Seq: seq})
			break
		}
		if !f.s.Due.IsZero() && f.s.Work == "" {
			f.now = f.s.Due
			f.send(lifecycle.Due{})
		}
	}
	require.Failf(f.t, "the life does not end", "%+v", f.s)
}
