package eviction

import (
	"cmp"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
)

// Pods are the pods that may have to go, with what each was measured to use.
// What a decision compares is worked out once, when a pod is put and when it is
// measured, and lies side by side, so that a round passes over it in order; pods
// that have local-storage limits are kept apart, so that a calm round looks at no
// others. The order in which pods came is the order of those that are equal in
// all else.
//
// One writer at a time; any number of readers while nobody writes.
type Pods struct {
	protect func(*v1.Pod) string
	places  map[types.UID]int
	// What is known of each pod, by place, in no order.
	keys    []key
	uses    []use
	kept    []*candidate
	limited []limitedPod // in no order
	came    uint64
	round   uint32 // measurements of other rounds don't count
}

// key is what a ranking looks at of a pod, besides its usage.
type key struct {
	memory, storage exact  // requests
	order           uint64 // when it came
	priority        int32
	protected       bool
}

// limitedPod tells whether a pod is over a limit of its own, on the layout on
// which most counts: all on one file system.
type limitedPod struct {
	place int
	round uint32
	over  bool
}

// candidate is one pod, with what is seldom looked at.
type candidate struct {
	pod       *v1.Pod
	inner     int      // place in Pods.limited, -1 when it has no limits
	protected string   // why it may not go, "" when it may
	volumes   []string // names of volumes that count as local storage
	limits    *storageLimits
	stats     *PodStats // of the round in its use
}

// NewPods returns an empty set. protect says in a few words why a pod may not
// go, and "" when it may; nil is [admission.WhyCritical], the kubelet's rule:
// static and mirror pods and critical priorities stay.
func NewPods(protect func(*v1.Pod) string) *Pods {
	if protect == nil {
		protect = admission.WhyCritical
	}
	return &Pods{protect: protect, places: map[types.UID]int{}, round: 1}
}

// PodsOf returns a set of these pods, with the kubelet's rule of protection.
func PodsOf(pods ...*v1.Pod) *Pods {
	set := NewPods(nil)
	for _, pod := range pods {
		set.Put(pod)
	}
	return set
}

// Put adds a pod, or replaces the one with its UID, which keeps its place and
// what it was measured to use. The same pointer again costs nothing.
func (p *Pods) Put(pod *v1.Pod) {
	place, known := p.places[pod.UID]
	switch {
	case !known:
		p.came++
		place = len(p.kept)
		p.places[pod.UID] = place
		p.keys = append(p.keys, key{order: p.came})
		p.uses = append(p.uses, use{})
		p.kept = append(p.kept, &candidate{inner: -1})
	case p.kept[place].pod == pod:
		return
	}
	c, k := p.kept[place], &p.keys[place]
	c.pod, c.protected, c.limits, c.volumes = pod, p.protect(pod), limitsOf(pod), localVolumes(pod)
	k.memory, k.storage = exactRequest(pod, v1.ResourceMemory), exactRequest(pod, v1.ResourceEphemeralStorage)
	k.priority, k.protected = 0, c.protected != ""
	if pod.Spec.Priority != nil {
		k.priority = *pod.Spec.Priority
	}
	switch {
	case c.limits != nil && c.inner < 0:
		c.inner = len(p.limited)
		p.limited = append(p.limited, limitedPod{place: place})
	case c.limits == nil && c.inner >= 0:
		p.dropLimited(c)
	}
	if p.uses[place].round == p.round { // what it uses counts otherwise now
		p.measure(place, c.stats)
	}
}

// localVolumes are the names of a pod's volumes that count as local storage.
func localVolumes(pod *v1.Pod) (names []string) {
	for i := range pod.Spec.Volumes {
		if isLocal(&pod.Spec.Volumes[i]) {
			names = append(names, pod.Spec.Volumes[i].Name)
		}
	}
	return names
}

// isLocal tells whether a volume lies on the node's disk and its usage is known
// there.
func isLocal(v *v1.Volume) bool {
	return v.HostPath != nil || v.GitRepo != nil || v.ConfigMap != nil ||
		v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault
}

// Remove takes a pod out. One that is not there is no error.
func (p *Pods) Remove(uid types.UID) {
	place, known := p.places[uid]
	if !known {
		return
	}
	if c := p.kept[place]; c.inner >= 0 {
		p.dropLimited(c)
	}
	delete(p.places, uid)
	last := len(p.kept) - 1
	if moved := p.kept[last]; place != last {
		p.keys[place], p.uses[place], p.kept[place] = p.keys[last], p.uses[last], moved
		p.places[moved.pod.UID] = place
		if moved.inner >= 0 {
			p.limited[moved.inner].place = place
		}
	}
	p.kept[last] = nil
	p.keys, p.uses, p.kept = p.keys[:last], p.uses[:last], p.kept[:last]
}

func (p *Pods) dropLimited(c *candidate) {
	last := len(p.limited) - 1
	p.limited[c.inner] = p.limited[last]
	p.kept[p.limited[c.inner].place].inner = c.inner
	p.limited = p.limited[:last]
	c.inner = -1
}

// Set makes the set hold these pods alone. Pods that it has as the same
// pointers cost a lookup each. New ones come in the order of their creation,
// then of their UIDs.
func (p *Pods) Set(pods []*v1.Pod) {
	var added []*v1.Pod
	kept := 0
	for _, pod := range pods {
		if _, known := p.places[pod.UID]; !known {
			added = append(added, pod)
			continue
		}
		kept++
		p.Put(pod)
	}
	if kept < len(p.kept) {
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
	for place := len(p.kept) - 1; place >= 0; place-- {
		if uid := p.kept[place].pod.UID; !wanted[uid] {
			p.Remove(uid)
		}
	}
}

// Len is the number of pods.
func (p *Pods) Len() int {
	if p == nil {
		return 0
	}
	return len(p.kept)
}

// All iterates over the pods, in no order. The set may be measured meanwhile, but
// not changed otherwise.
func (p *Pods) All() iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for place := range p.Len() {
			if !yield(p.kept[place].pod) {
				return
			}
		}
	}
}

// Limited iterates over the pods that have local-storage limits, in no order.
// Evaluate needs their stats in every round, and those of all pods only in a
// round in which one must go. The set may be measured meanwhile, but not changed
// otherwise.
func (p *Pods) Limited() iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		if p == nil {
			return
		}
		for _, l := range p.limited {
			if !yield(p.kept[l.place].pod) {
				return
			}
		}
	}
}
