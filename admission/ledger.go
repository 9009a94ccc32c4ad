package admission

import (
	"errors"
	"fmt"
	"maps"
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// errNoUID refuses a pod that could not be told from others without one.
var errNoUID = errors.New("the pod has no UID")

func noUID(pod *v1.Pod) error {
	return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, errNoUID)
}

// ErrEntered is wrapped by the error of [Ledger.Add] for a pod that is in the
// ledger already.
var ErrEntered = errors.New("already entered")

// Ledger counts what the admitted pods of a node take: requests per resource,
// pods, host ports. It is incremental: adding, removing and judging a pod cost
// the same however many there are. Pods are told apart by their UID. Make one
// with [NewLedger].
//
// Whoever holds a ledger sees to its truth: a pod is entered when it is
// admitted, stays while it is being stopped, and is removed once nothing of it
// runs. A rejected pod is never entered (kubernetes/kubernetes#135296).
//
// One writer at a time; any number of readers while nobody writes. While a fork
// is in use its parent is not written to.
type Ledger struct {
	parent *Ledger
	pods   map[types.UID]*entry // nil entry: removed from the parent's
	ports  portTable            // of this level alone; counts may be negative in a fork

	count int // of all levels
	used  total
}

// entry is one pod in the ledger.
type entry struct {
	requests Requests
	ports    []hostPort
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{pods: make(map[types.UID]*entry), ports: make(portTable)}
}

// Fork returns a ledger that begins with the same content. What happens in it
// stays there until Commit; dropping it undoes it. It costs the same however
// many pods there are.
func (l *Ledger) Fork() *Ledger {
	fork := NewLedger()
	fork.parent, fork.count, fork.used = l, l.count, l.used.clone()
	return fork
}

// Commit carries what happened in a fork over to its parent. The fork is not
// used afterwards. On a ledger that is no fork it does nothing.
func (l *Ledger) Commit() {
	if l.parent == nil {
		return
	}
	for uid, e := range l.pods {
		l.parent.Remove(uid)
		if e != nil {
			l.parent.enter(uid, e)
		}
	}
	l.parent, l.pods, l.ports = nil, nil, nil
}

// Add enters a pod without judging it, as for one that was admitted, or that
// runs already. The host ports are those of its spec; a host whose containers
// share the node's network says so with [Ledger.AddWithPorts]. A pod that is
// entered already, or has no UID, is an error.
func (l *Ledger) Add(pod *v1.Pod) error {
	return l.AddWithPorts(pod, HostPorts(pod))
}

// AddWithPorts is Add with the host ports given.
func (l *Ledger) AddWithPorts(pod *v1.Pod, ports []v1.ContainerPort) error {
	if pod.UID == "" {
		return noUID(pod)
	}
	if l.Has(pod.UID) {
		return fmt.Errorf("pod %s/%s (%s): %w", pod.Namespace, pod.Name, pod.UID, ErrEntered)
	}
	e := &entry{requests: runningRequests(pod)}
	for _, p := range ports {
		e.ports = append(e.ports, portKey(p))
	}
	l.enter(pod.UID, e)
	return nil
}

// Remove takes a pod out and tells whether it was in.
func (l *Ledger) Remove(uid types.UID) bool {
	e := l.find(uid)
	if e == nil {
		return false
	}
	if l.parent != nil && l.parent.find(uid) != nil {
		l.pods[uid] = nil
	} else {
		delete(l.pods, uid)
	}
	l.count--
	l.used.subtract(e.requests)
	for _, p := range e.ports {
		l.ports.add(p, -1)
	}
	return true
}

// Has tells whether the pod is entered.
func (l *Ledger) Has(uid types.UID) bool { return l.find(uid) != nil }

// Pods is the number of pods entered.
func (l *Ledger) Pods() int { return l.count }

// Used is the sum of what the entered pods request. The caller owns it.
func (l *Ledger) Used() Requests { return l.used.requests() }

// HostPortTaken tells whether a port of the node is held in a way that excludes
// the one given: the same protocol and number, and the same address or one side
// without an address.
func (l *Ledger) HostPortTaken(p v1.ContainerPort) bool {
	want := portKey(p)
	key := protocolPort{want.protocol, want.port}
	if want.ip != anyAddress {
		return l.holders(key, anyAddress) > 0 || l.holders(key, want.ip) > 0
	}
	for level := l; level != nil; level = level.parent {
		for ip := range level.ports[key] {
			if l.holders(key, ip) > 0 {
				return true
			}
		}
	}
	return false
}

func (l *Ledger) holders(key protocolPort, ip string) int {
	n := 0
	for level := l; level != nil; level = level.parent {
		n += level.ports[key][ip]
	}
	return n
}

func (l *Ledger) find(uid types.UID) *entry {
	for level := l; level != nil; level = level.parent {
		if e, ok := level.pods[uid]; ok {
			return e
		}
	}
	return nil
}

func (l *Ledger) enter(uid types.UID, e *entry) {
	l.pods[uid] = e
	l.count++
	l.used.add(e.requests)
	for _, p := range e.ports {
		l.ports.add(p, 1)
	}
}

// total is a sum of requests that never overflows: sums are kept in two words,
// so that taking out again what was put in gives the exact rest.
type total struct {
	milliCPU, memory, ephemeralStorage wide
	scalar                             map[v1.ResourceName]wide
}

// wide is an unsigned sum of numbers of 63 bits, in units of high and low; it
// holds more addends than a node has pods.
type wide struct{ high, low int64 }

const lowBits = 32

func (w wide) plus(n int64) wide {
	w.low += n & (1<<lowBits - 1)
	w.high += n >> lowBits
	return w
}

func (w wide) minus(n int64) wide {
	w.low -= n & (1<<lowBits - 1)
	w.high -= n >> lowBits
	return w
}

// value is the sum, or the largest int64 when it is larger.
func (w wide) value() int64 {
	high, low := w.high+w.low>>lowBits, w.low&(1<<lowBits-1)
	if high >= 1<<(63-lowBits) {
		return math.MaxInt64
	}
	return high<<lowBits | low
}

func (t *total) add(r Requests) {
	t.milliCPU = t.milliCPU.plus(r.MilliCPU)
	t.memory = t.memory.plus(r.Memory)
	t.ephemeralStorage = t.ephemeralStorage.plus(r.EphemeralStorage)
	for name, n := range r.Scalar {
		if t.scalar == nil {
			t.scalar = make(map[v1.ResourceName]wide)
		}
		t.scalar[name] = t.scalar[name].plus(n)
	}
}

func (t *total) subtract(r Requests) {
	t.milliCPU = t.milliCPU.minus(r.MilliCPU)
	t.memory = t.memory.minus(r.Memory)
	t.ephemeralStorage = t.ephemeralStorage.minus(r.EphemeralStorage)
	for name, n := range r.Scalar {
		t.scalar[name] = t.scalar[name].minus(n)
	}
}

func (t *total) clone() total {
	c := *t
	c.scalar = maps.Clone(t.scalar)
	return c
}

func (t *total) requests() Requests {
	r := Requests{
		MilliCPU:         t.milliCPU.value(),
		Memory:           t.memory.value(),
		EphemeralStorage: t.ephemeralStorage.value(),
	}
	for name, w := range t.scalar {
		if n := w.value(); n != 0 {
			if r.Scalar == nil {
				r.Scalar = make(map[v1.ResourceName]int64)
			}
			r.Scalar[name] = n
		}
	}
	return r
}
