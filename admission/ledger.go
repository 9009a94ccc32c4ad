package admission

import (
	"errors"
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Errors of a [Ledger].
var (
	// ErrEntered is the error for entering a pod that is in the ledger already.
	ErrEntered = errors.New("already entered")
	// ErrNotEntered is the error for updating one that is not.
	ErrNotEntered = errors.New("not entered")
)

var errNameless = errors.New("the pod has neither UID nor name")

// Key names a pod in a ledger: its UID, or its namespace and name where it has
// none, as a pod that was never in a cluster.
type Key string

// KeyOf is the key of a pod; it is empty for one with neither UID nor name, or nil.
func KeyOf(pod *v1.Pod) Key {
	switch {
	case pod == nil:
		return ""
	case pod.UID != "":
		return Key(pod.UID)
	case pod.Name == "":
		return ""
	}
	return Key(pod.Namespace + "/" + pod.Name)
}

// Ledger counts what the admitted pods of a node take: requests per resource,
// pods, host ports. It is incremental: adding, removing and judging a pod cost
// the same however many there are. Pods are told apart by their UID, or by
// namespace and name where they have none. The zero value is an empty ledger, as
// is what [NewLedger] returns.
//
// Whoever holds a ledger sees to its truth: a pod is entered when it is
// admitted, stays while it is being stopped, and is removed once nothing of it
// runs. A rejected pod is never entered (kubernetes/kubernetes#135296).
//
// One writer at a time; any number of readers while nobody writes. While a fork
// is in use its parent is not written to.
type Ledger struct {
	parent *Ledger
	pods   map[Key]*entry // nil entry: removed from the parent's
	rows   []row          // of the entries of this level
	ports  portTable      // of this level alone; counts may be negative in a fork

	count int    // of all levels
	next  uint64 // the order of the next entry
	used  total
}

// entry is one pod in the ledger. It is immutable, save for its place in rows, and
// belongs to its level alone.
type entry struct {
	*Prepared
	order uint64 // of entering
	stay  stay
	// parked: its place is kept, and it is not in it yet.
	parked bool
	row    int
}

// stay is whether a pod is on its way out.
type stay uint8

const (
	staying stay = iota
	leaving      // it is being stopped
	stuck        // it is being stopped, and does not stop
)

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{pods: make(map[Key]*entry), ports: make(portTable)}
}

// Fork returns a ledger that begins with the same content. What happens in it
// stays there until Commit; dropping it undoes it. It costs the same however
// many pods there are.
func (l *Ledger) Fork() *Ledger {
	fork := NewLedger()
	fork.parent, fork.count, fork.next, fork.used = l, l.count, l.next, l.used.clone()
	return fork
}

// Commit carries what happened in a fork over to its parent. The fork holds the
// same as its parent then, and may be used on. On a ledger that is no fork it does
// nothing.
func (l *Ledger) Commit() {
	if l.parent == nil {
		return
	}
	for key, e := range l.pods {
		l.parent.remove(key)
		if e != nil {
			l.parent.enter(*e)
		}
	}
	l.parent.next = max(l.parent.next, l.next)
	*l = *l.parent.Fork()
}

// Add enters a pod without judging it, as for one that was admitted, or that
// runs already; also one that has [Finished], of which something may run yet. The
// host ports are those of its spec; a host whose containers
// share the node's network says so with [Ledger.AddWithPorts]. A pod that is
// entered already, or has neither UID nor name, is an error.
func (l *Ledger) Add(pod *v1.Pod) error { return l.AddPrepared(Prepare(pod)) }

// AddWithPorts is Add with the host ports given.
func (l *Ledger) AddWithPorts(pod *v1.Pod, ports []v1.ContainerPort) error {
	return l.AddPrepared(prepare(pod, ports))
}

// AddPrepared is Add for a pod that is prepared.
func (l *Ledger) AddPrepared(p *Prepared) error {
	if err := p.named(); err != nil {
		return err
	}
	if l.find(p.key) != nil {
		return fmt.Errorf("pod %s/%s (%s): %w", p.pod.Namespace, p.pod.Name, p.key, ErrEntered)
	}
	l.enter(entry{Prepared: p, order: l.next})
	l.next++
	return nil
}

// Update counts a pod that is in by what it is now: after a resize, or a change
// of its status. One that has finished is taken out. A pod that is not in is
// [ErrNotEntered].
func (l *Ledger) Update(pod *v1.Pod) error { return l.UpdatePrepared(Prepare(pod)) }

// UpdatePrepared is Update for a pod that is prepared.
func (l *Ledger) UpdatePrepared(p *Prepared) error {
	if p == nil || p.pod == nil {
		return errNilPod
	}
	e := l.find(p.key)
	if e == nil {
		return fmt.Errorf("pod %s/%s (%s): %w", p.pod.Namespace, p.pod.Name, p.key, ErrNotEntered)
	}
	l.remove(p.key)
	if !Finished(p.pod) {
		l.enter(entry{Prepared: p, order: e.order, stay: e.stay, parked: e.parked})
	}
	return nil
}

// Finished tells whether a pod has come to its end and takes nothing any more.
func Finished(pod *v1.Pod) bool {
	return pod != nil && (pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed)
}

// SetLeaving notes that a pod is being stopped, or that it stays after all, and
// tells whether it is in. It counts until it is removed, so that nobody else takes
// its room; only preemption sees it as gone.
func (l *Ledger) SetLeaving(key Key, leaves bool) bool {
	if leaves {
		return l.setStay(key, leaving)
	}
	return l.setStay(key, staying)
}

// SetStuck notes that a pod that is being stopped does not stop, and tells
// whether it is in. No preemption counts on its room any more, and none chooses it
// as a victim again.
func (l *Ledger) SetStuck(key Key) bool { return l.setStay(key, stuck) }

func (l *Ledger) setStay(key Key, s stay) bool {
	e := l.find(key)
	if e == nil {
		return false
	}
	if e.stay != s {
		l.unseat(e)
		l.seat(entry{Prepared: e.Prepared, order: e.order, stay: s, parked: e.parked})
	}
	return true
}

// Remove takes a pod out by its UID and tells whether it was in.
func (l *Ledger) Remove(uid types.UID) bool { return l.remove(Key(uid)) }

// RemovePod takes a pod out and tells whether it was in.
func (l *Ledger) RemovePod(pod *v1.Pod) bool { return l.remove(KeyOf(pod)) }

func (l *Ledger) remove(key Key) bool {
	e := l.find(key)
	if e == nil {
		return false
	}
	l.unseat(e)
	if l.parent != nil && l.parent.find(key) != nil {
		l.pods[key] = nil
	} else {
		delete(l.pods, key)
	}
	l.count--
	l.used.subtract(e.running)
	for _, p := range e.ports {
		l.ports.add(p, -1)
	}
	return true
}

// Has tells whether the pod of the UID is entered.
func (l *Ledger) Has(uid types.UID) bool { return l.find(Key(uid)) != nil }

// HasPod tells whether the pod is entered.
func (l *Ledger) HasPod(pod *v1.Pod) bool { return l.find(KeyOf(pod)) != nil }

// Pods is the number of pods entered.
func (l *Ledger) Pods() int { return l.count }

// Used is the sum of what the entered pods request. The caller owns it.
func (l *Ledger) Used() Requests { return l.used.requests() }

// UsedOf is the sum of one resource: cpu in millicores, "pods" as their number,
// the largest int64 when it is larger.
func (l *Ledger) UsedOf(name v1.ResourceName) int64 {
	switch name {
	case v1.ResourcePods:
		return int64(l.count)
	case v1.ResourceCPU:
		return l.used.milliCPU.value()
	case v1.ResourceMemory:
		return l.used.memory.value()
	case v1.ResourceEphemeralStorage:
		return l.used.ephemeralStorage.value()
	default:
		return l.used.scalar[name].value()
	}
}

func (l *Ledger) find(key Key) *entry {
	for level := l; level != nil; level = level.parent {
		if e, ok := level.pods[key]; ok {
			return e
		}
	}
	return nil
}

// entries are the pods that are in, in no order.
func (l *Ledger) entries() iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for level := l; level != nil; level = level.parent {
			for i := range level.rows {
				r := &level.rows[i]
				if (level == l || l.find(r.key) == r.entry) && !yield(r) {
					return
				}
			}
		}
	}
}

// seat gives an entry its place, and unseat takes that of one of this level.
func (l *Ledger) seat(e entry) {
	own := &e
	l.pods[own.key] = own
	own.row = len(l.rows)
	l.rows = append(l.rows, rowOf(own))
}

func (l *Ledger) unseat(e *entry) {
	if l.pods[e.key] != e {
		return
	}
	last := len(l.rows) - 1
	l.rows[e.row] = l.rows[last]
	l.rows[e.row].entry.row = e.row
	l.rows[last] = row{}
	l.rows = l.rows[:last]
}

func (l *Ledger) enter(e entry) {
	if l.pods == nil {
		l.pods, l.ports = make(map[Key]*entry), make(portTable)
	}
	l.seat(e)
	l.count++
	l.used.add(e.running)
	for _, p := range e.ports {
		l.ports.add(p, 1)
	}
}
