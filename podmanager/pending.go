package podmanager

import (
	"container/list"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pending is what a source said while nobody took it. It never holds more than
// one word about a pod: a list replaces all that was before it, and a delta what
// was said of its pod. The order of the last words is kept.
type pending struct {
	list    []*v1.Pod
	hasList bool
	deltas  *list.List // of delta
	byPod   map[podKey]*list.Element
}

type delta struct {
	op  Op
	pod *v1.Pod
}

// podKey is the UID, or the full name of a pod without one, which is refused
// later.
type podKey struct {
	uid  types.UID
	name string
}

func keyOf(pod *v1.Pod) podKey {
	if pod.UID != "" {
		return podKey{uid: pod.UID}
	}
	return podKey{name: FullName(pod)}
}

// say adds a word; op is one that a source may use.
func (p *pending) say(op Op, pods []*v1.Pod) {
	if op == OpSet {
		*p = pending{list: pods, hasList: true}
		return
	}
	if p.deltas == nil {
		p.deltas, p.byPod = list.New(), map[podKey]*list.Element{}
	}
	for _, pod := range pods {
		if pod != nil {
			p.sayOne(op, pod)
		}
	}
}

func (p *pending) sayOne(op Op, pod *v1.Pod) {
	key := keyOf(pod)
	if old := p.byPod[key]; old != nil {
		if op == OpRestore {
			return // whatever was said is newer than a checkpoint
		}
		p.deltas.Remove(old)
	}
	p.byPod[key] = p.deltas.PushBack(delta{op, pod})
}

// word is what can be merged at once.
type word struct {
	op   Op
	pods []*v1.Pod
}

// take empties p.
func (p *pending) take() []word {
	var words []word
	if p.hasList {
		words = append(words, word{OpSet, p.list})
	}
	if p.deltas != nil {
		for e := p.deltas.Front(); e != nil; e = e.Next() {
			d := e.Value.(delta)
			if n := len(words); n == 0 || words[n-1].op != d.op {
				words = append(words, word{op: d.op})
			}
			last := &words[len(words)-1]
			last.pods = append(last.pods, d.pod)
		}
	}
	*p = pending{}
	return words
}
