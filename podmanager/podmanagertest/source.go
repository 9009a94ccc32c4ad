package podmanagertest

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

// Source is a PodSource in memory. It says what its methods are told, in that
// order, and knows what it has said: its second Run begins with the whole list,
// as that of any source does. Each pod goes out as a copy of its own.
//
// It does not decode, default or validate, and derives no UIDs.
//
// All methods are safe for concurrent use and don't wait for Run.
type Source struct {
	mu      sync.Mutex
	pods    []*v1.Pod // the list as it stands once all is said
	err     error
	queue   []podmanager.Report
	hanging bool
	ran     bool
	ended   bool
	end     error
	said    int
	wake    chan struct{}
}

// NewSource returns a source that says nothing yet.
func NewSource() *Source { return &Source{wake: make(chan struct{}, 1)} }

// Set says the whole list.
func (s *Source) Set(pods ...*v1.Pod) { s.say(podmanager.OpSet, pods) }

// Add says that there are new pods.
func (s *Source) Add(pods ...*v1.Pod) { s.say(podmanager.OpAdd, pods) }

// Update says that pods changed.
func (s *Source) Update(pods ...*v1.Pod) { s.say(podmanager.OpUpdate, pods) }

// Remove says that pods are gone.
func (s *Source) Remove(pods ...*v1.Pod) { s.say(podmanager.OpRemove, pods) }

// Restore hands over pods from a checkpoint. They don't become part of the
// source's own list.
func (s *Source) Restore(pods ...*v1.Pod) { s.say(podmanager.OpRestore, pods) }

// Flood says the whole list n times.
func (s *Source) Flood(n int, pods ...*v1.Pod) {
	for range n {
		s.Set(pods...)
	}
}

// Fail says that something is wrong, until a call with nil. The list stays.
func (s *Source) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.push(podmanager.Report{Err: err})
}

// Hang keeps back all words from now on, until Resume.
func (s *Source) Hang() { s.hang(true) }

// Resume says what Hang kept back.
func (s *Source) Resume() { s.hang(false) }

// End makes Run return with this error once all is said.
func (s *Source) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.end = true, err
	s.nudge()
}

// Pods returns the list as it stands once all is said.
func (s *Source) Pods() []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copies(s.pods)
}

// Said returns how many reports were delivered so far.
func (s *Source) Said() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said
}

// Run delivers until ctx ends.
func (s *Source) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	s.begin()
	for ctx.Err() == nil {
		report, ok, ended, err := s.next()
		switch {
		case ok:
			deliver(report)
		case ended:
			return err
		default:
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
		}
	}
	return nil
}

func (s *Source) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ran {
		s.queue = []podmanager.Report{{Op: podmanager.OpSet, Pods: copies(s.pods), Err: s.err}}
	}
	s.ran = true
}

func (s *Source) next() (r podmanager.Report, ok, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hanging:
		return r, false, false, nil
	case len(s.queue) > 0:
		r, s.queue = s.queue[0], s.queue[1:]
		s.said++
		return r, true, false, nil
	}
	return r, false, s.ended, s.end
}

func (s *Source) say(op podmanager.Op, pods []*v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch op {
	case podmanager.OpSet:
		s.pods = copies(pods)
	case podmanager.OpAdd, podmanager.OpUpdate:
		s.forget(pods)
		s.pods = append(s.pods, copies(pods)...)
	case podmanager.OpRemove:
		s.forget(pods)
	}
	s.push(podmanager.Report{Op: op, Pods: copies(pods), Err: s.err})
}

func (s *Source) forget(pods []*v1.Pod) {
	s.pods = slices.DeleteFunc(s.pods, func(old *v1.Pod) bool {
		return slices.ContainsFunc(pods, func(p *v1.Pod) bool { return p.UID == old.UID })
	})
}

func (s *Source) hang(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hanging = on
	s.nudge()
}

func (s *Source) push(r podmanager.Report) {
	s.queue = append(s.queue, r)
	s.nudge()
}

func (s *Source) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func copies(pods []*v1.Pod) []*v1.Pod {
	out := make([]*v1.Pod, 0, len(pods))
	for _, pod := range pods {
		out = append(out, pod.DeepCopy())
	}
	return out
}
