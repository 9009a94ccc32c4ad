package eviction

import (
	"cmp"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
)

// Pods are the pods that may have to go. What a decision needs of a pod besides
// its usage is computed once, when the pod is put; pods that have local-storage
// limits are kept apart, so that a calm round looks at no others. The order in
// which pods came is the order of those that are equal in all else.
//
// One writer at a time; any number of readers while nobody writes.
type Pods struct {
	protect func(*v1.Pod) string
	byUID   map[types.UID]*candidate
	all     []*candidate // in no order
	limited []*candidate // in no order
	came    uint64
}

// candidate is one pod, with what is known of it beforehand.
type candidate struct {
	pod   *v1.Pod
	uid   types.UID
	order uint64 // when it came
	at    int    // place in Pods.all
	inner int    // place in Pods.limited, -1 when it has no limits

	protected string // why it may not go, "" when it may
	priority  int32
	memory    exact // requests
	storage   exact
	volumes   []string // names of volumes that count as local storage
	limits    *storageLimits
}

// NewPods returns an empty set. protect says in a few words why a pod may not
// go, and "" when it may; nil is [admission.WhyCritical], the kubelet's rule:
// static and mirror pods and critical priorities stay.
func NewPods(protect func(*v1.Pod) string) *Pods {
	if protect == nil {
		protect = admission.WhyCritical
	}
	return &Pods{protect: protect, byUID: map[types.UID]*candidate{}}
}

// PodsOf returns a set of these pods, with the kubelet's rule of protection.
func PodsOf(pods ...*v1.Pod) *Pods {
	set := NewPods(nil)
	for _, pod := range pods {
		set.Put(pod)
	}
	return set
}

// Put adds a pod, or replaces the one with its UID, which keeps its place. The
// same pointer again costs nothing.
func (p *Pods) Put(pod *v1.Pod) {
	old := p.byUID[pod.UID]
	if old != nil && old.pod == pod {
		return
	}
	c := p.candidate(pod)
	if old == nil {
		p.came++
		c.order, c.at, c.inner = p.came, len(p.all), -1
		p.all = append(p.all, c)
		p.byUID[pod.UID] = c
	} else {
		c.order, c.at, c.inner = old.order, old.at, old.inner
		*old = *c
		c = old
	}
	switch {
	case c.limits != nil && c.inner < 0:
		c.inner = len(p.limited)
		p.limited = append(p.limited, c)
	case c.limits == nil && c.inner >= 0:
		p.dropLimited(c)
	}
}

func (p *Pods) candidate(pod *v1.Pod) *candidate {
	c := &candidate{pod: pod, uid: pod.UID, protected: p.protect(pod)}
	if pod.Spec.Priority != nil {
		c.priority = *pod.Spec.Priority
	}
	c.memory = exactRequest(pod, v1.ResourceMemory)
	c.storage = exactRequest(pod, v1.ResourceEphemeralStorage)
	for i := range pod.Spec.Volumes {
		if isLocal(&pod.Spec.Volumes[i]) {
			c.volumes = append(c.volumes, pod.Spec.Volumes[i].Name)
		}
	}
	c.limits = limitsOf(pod)
	return c
}

// isLocal tells whether a volume lies on the node's disk and its usage is known
// there.
func isLocal(v *v1.Volume) bool {
	return v.HostPath != nil || v.GitRepo != nil || v.ConfigMap != nil ||
		v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault
}

// Remove takes a pod out. One that is not there is no error.
func (p *Pods) Remove(uid types.UID) {
	c := p.byUID[uid]
	if c == nil {
		return
	}
	delete(p.byUID, uid)
	last := p.all[len(p.all)-1]
	last.at = c.at
	p.all[c.at] = last
	p.all[len(p.all)-1] = nil
	p.all = p.all[:len(p.all)-1]
	if c.inner >= 0 {
		p.dropLimited(c)
	}
}

func (p *Pods) dropLimited(c *candidate) {
	last := p.limited[len(p.limited)-1]
	last.inner = c.inner
	p.limited[c.inner] = last
	p.limited[len(p.limited)-1] = nil
	p.limited = p.limited[:len(p.limited)-1]
	c.inner = -1
}

// Set makes the set hold these pods alone. Pods that it has as the same
// pointers cost a lookup each. New ones come in the order of their creation,
// then of their UIDs.
func (p *Pods) Set(pods []*v1.Pod) {
	var added []*v1.Pod
	kept := 0
	for _, pod := range pods {
		if p.byUID[pod.UID] == nil {
			added = append(added, pod)
			continue
		}
		kept++
		p.Put(pod)
	}
	if kept < len(p.all) {
		p.keep(pods)
	}
	slices.SortStableFunc(added, func(a, b *v1.Pod) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return cmp.Compare(a.UID, b.UID)
	})
	for _, pod := range added {
		p.Put(pod)
	}
}

// keep removes all pods that are not among these.
func (p *Pods) keep(pods []*v1.Pod) {
	wanted := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		wanted[pod.UID] = true
	}
	for i := len(p.all) - 1; i >= 0; i-- {
		if uid := p.all[i].uid; !wanted[uid] {
			p.Remove(uid)
		}
	}
}

// Len is the number of pods.
func (p *Pods) Len() int {
	if p == nil {
		return 0
	}
	return len(p.all)
}

// All iterates over the pods, in no order.
func (p *Pods) All() iter.Seq[*v1.Pod] { return podsIn(p.list()) }

// Limited iterates over the pods that have local-storage limits, in no order.
// Evaluate needs their stats in every round, and those of all pods only in a
// round in which one must go.
func (p *Pods) Limited() iter.Seq[*v1.Pod] {
	if p == nil {
		return podsIn(nil)
	}
	return podsIn(p.limited)
}

func (p *Pods) list() []*candidate {
	if p == nil {
		return nil
	}
	return p.all
}

func podsIn(list []*candidate) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for _, c := range list {
			if !yield(c.pod) {
				return
			}
		}
	}
}
