package podmanager

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// emission is the order in which changes are handed out.
var emission = [...]Op{OpRemove, OpAdd, OpUpdate, OpDelete, OpReconcile, OpRestore}

// merge is one call of Mux.Merge: it changes the state of its source and
// collects what that comes to.
type merge struct {
	*sourceState
	mux *Mux
	now time.Time

	first   bool // this is the first list of the source
	changes [len(emission)][]*v1.Pod
	dropped []*entry
	events  []Event
}

// set merges the whole list of the source.
func (c *merge) set(pods []*v1.Pod) {
	c.first = !c.seen
	c.seen = true
	c.lists++
	list := c.firstOfEach(pods)
	for _, pod := range list {
		if e := c.pods[pod.UID]; e != nil {
			e.list = c.lists
		}
	}
	c.dropUnlisted()
	for _, pod := range list {
		c.put(pod)
	}
}

// dropUnlisted drops what the current list does not have.
func (c *merge) dropUnlisted() {
	for uid := range c.refused {
		c.forgetRefused(uid)
	}
	for _, e := range c.pods {
		if e.list != c.lists {
			c.drop(e)
		}
	}
}

// upsert merges additions and updates.
func (c *merge) upsert(pods []*v1.Pod) {
	for _, pod := range c.lastOfEach(pods) {
		c.put(pod)
	}
}

// remove merges removals. UIDs alone count.
func (c *merge) remove(pods []*v1.Pod) {
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		c.forgetRefused(pod.UID)
		if e := c.pods[pod.UID]; e != nil {
			c.drop(e)
		}
	}
}

// restore merges pods from a checkpoint: what is known already is newer.
func (c *merge) restore(pods []*v1.Pod) {
	if c.seen {
		return
	}
	for _, pod := range c.firstOfEach(pods) {
		_, named := c.uids[FullName(pod)]
		if !named && c.pods[pod.UID] == nil && c.claim(pod) {
			c.announce(OpRestore, c.insert(pod, firstSeen(pod, c.now)))
		}
	}
}

// put takes over one pod that the source wants.
func (c *merge) put(pod *v1.Pod) {
	c.forgetRefused(pod.UID)
	name := FullName(pod)
	if uid, ok := c.uids[name]; ok && uid != pod.UID {
		c.forgetRefused(uid)
		if old := c.pods[uid]; old != nil {
			c.drop(old)
		}
	}
	if e := c.pods[pod.UID]; e != nil && FullName(e.pod) == name {
		c.refresh(e, pod)
		return
	} else if e != nil {
		c.drop(e) // a new name is a new pod
	}
	if c.claim(pod) {
		c.announce(OpAdd, c.insert(pod, stamp(c.now)))
	}
}

// claim takes the UID of a pod for this source, unless another one has it.
func (c *merge) claim(pod *v1.Pod) bool {
	if owner := c.mux.owners[pod.UID]; owner != nil && owner != c.sourceState {
		c.refused[pod.UID] = pod
		c.uids[FullName(pod)] = pod.UID
		c.refuse(pod, fmt.Sprintf("duplicate pod UID %q, which source %s has", pod.UID, owner.name))
		return false
	}
	c.mux.owners[pod.UID] = c.sourceState
	return true
}

// insert stores a pod that is new to the source.
func (s *sourceState) insert(pod *v1.Pod, seen string) *v1.Pod {
	own := annotated(pod, map[string]string{AnnotationSource: s.name, AnnotationSeen: seen})
	s.added++
	s.pods[pod.UID] = &entry{pod: own, in: pod, order: s.added, list: s.lists}
	s.uids[FullName(pod)] = pod.UID
	return own
}

// refresh compares a known pod with what the source says of it now.
func (c *merge) refresh(e *entry, pod *v1.Pod) {
	if unchanged(e, pod, c.name) {
		return
	}
	op := classify(e.pod, pod)
	e.pod, e.in = successor(e.pod, pod, op), pod
	if op != "" {
		c.announce(op, e.pod)
	}
}

// drop removes a pod.
func (c *merge) drop(e *entry) {
	c.dropped = append(c.dropped, e)
	delete(c.mux.owners, e.pod.UID)
	delete(c.pods, e.pod.UID)
	c.unname(e.pod)
}

func (s *sourceState) forgetRefused(uid types.UID) {
	if pod := s.refused[uid]; pod != nil {
		delete(s.refused, uid)
		s.unname(pod)
	}
}

func (s *sourceState) unname(pod *v1.Pod) {
	if name := FullName(pod); s.uids[name] == pod.UID {
		delete(s.uids, name)
	}
}

// result puts the changes into the kubelet's order.
func (c *merge) result() Merged {
	slices.SortFunc(c.dropped, func(a, b *entry) int { return cmp.Compare(a.order, b.order) })
	for _, e := range c.dropped {
		c.announce(OpRemove, e.pod)
	}
	out := Merged{Events: c.events}
	heard := !c.first
	for i, op := range emission {
		if op == OpReconcile && !heard {
			out.Updates = append(out.Updates, Update{Source: c.name, Op: OpAdd})
		}
		if pods := c.changes[i]; len(pods) > 0 {
			out.Updates = append(out.Updates, Update{Source: c.name, Op: op, Pods: pods})
			heard = heard || op != OpRemove
		}
	}
	for _, e := range c.dropped {
		c.offer(e.pod.UID, &out)
	}
	return out
}

// offer gives a UID that was dropped, and not taken up again, to the first
// source that was refused it.
func (c *merge) offer(uid types.UID, out *Merged) {
	if c.mux.owners[uid] != nil {
		return
	}
	for _, name := range c.mux.order {
		other := c.mux.sources[name]
		if pod := other.refused[uid]; pod != nil {
			next := merge{mux: c.mux, sourceState: other, now: c.now}
			next.put(pod)
			out.Updates = append(out.Updates, next.result().Updates...)
			return
		}
	}
}

func (c *merge) announce(op Op, pod *v1.Pod) {
	i := slices.Index(emission[:], op)
	c.changes[i] = append(c.changes[i], pod)
}
