package simtest

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// source is a PodSource that says what the world lets it say, when it is its
// turn. One of snapshots says its whole list each time; the API's says its list
// at first, and what has changed from then on.
type source struct {
	name   string
	deltas bool
	// pods is what it has, in the order of addition.
	pods []*v1.Pod

	// begun: the agent listens. heard: it has had its first list. out takes
	// what is said.
	begun, heard bool
	out          chan podmanager.Report
	// changed: the list is to be said. queue are deltas to be said.
	changed bool
	queue   []podmanager.Report
	// silent and failing until then.
	silent time.Time
	copies bool // each word is made of new objects
}

func (s *source) get(uid types.UID) *v1.Pod {
	for _, p := range s.pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// named returns the pod of a name, which is no mirror.
func (s *source) named(name string) *v1.Pod {
	for _, p := range s.pods {
		if p.Name == name && !podmanager.IsMirror(p) {
			return p
		}
	}
	return nil
}

// put adds a pod, or changes the one of its UID. Another one of its name goes.
func (s *source) put(pod *v1.Pod) {
	i := slices.IndexFunc(s.pods, func(p *v1.Pod) bool { return p.UID == pod.UID })
	if i >= 0 {
		s.pods[i] = pod
		s.say(podmanager.OpUpdate, pod)
		return
	}
	for _, p := range slices.Clone(s.pods) {
		if p.Name == pod.Name {
			s.drop(p)
		}
	}
	s.pods = append(s.pods, pod)
	s.say(podmanager.OpAdd, pod)
}

func (s *source) drop(pod *v1.Pod) {
	s.pods = slices.DeleteFunc(s.pods, func(p *v1.Pod) bool { return p.UID == pod.UID })
	s.say(podmanager.OpRemove, pod)
}

func (s *source) say(op podmanager.Op, pod *v1.Pod) {
	if !s.deltas || !s.heard {
		s.changed = true
		return
	}
	s.queue = append(s.queue, podmanager.Report{Op: op, Pods: []*v1.Pod{pod}})
}

// again has the whole list said once more.
func (s *source) again() { s.changed, s.queue = true, nil }

// due tells whether there is something to say now.
func (s *source) due(now time.Time) bool {
	return s.begun && (s.changed || len(s.queue) > 0) && !s.silent.After(now)
}

// next takes the next word.
func (s *source) next() podmanager.Report {
	if !s.changed {
		r := s.queue[0]
		s.queue = s.queue[1:]
		return r
	}
	s.changed, s.heard, s.queue = false, true, nil
	list := slices.Clone(s.pods)
	if s.copies {
		for i := range list {
			list[i] = list[i].DeepCopy()
		}
	}
	return podmanager.Report{Op: podmanager.OpSet, Pods: list}
}

// restart is for a new agent.
func (s *source) restart() { s.begun, s.heard, s.changed, s.queue = false, false, true, nil }

// listener is the source as one agent sees it.
type listener struct {
	*source
	agent *agent
}

// Run implements [podmanager.PodSource].
func (l listener) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	err := l.agent.call(ctx, "source "+l.name+" begins", "", func() error { return nil })
	if err != nil {
		return nil
	}
	l.begun = true
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-l.out:
			deliver(r)
		}
	}
}
