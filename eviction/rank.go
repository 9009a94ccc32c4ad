package eviction

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// place is a pod's place in a ranking, before it is known against whom.
type place struct {
	at       int // in Pods
	order    uint64
	priority int32
	measured bool
	exceeds  bool
	usage    int64
	over     excess
}

// ranking measures pods by one signal.
type ranking struct {
	signal   Signal
	resource v1.ResourceName
	// usage is what a pod takes of it.
	usage func(*use) int64
	// request is what usage is held against, and baseline what is taken off
	// the usage in comparisons; the kubelet has two for inodes.
	request, baseline func(*key) exact
	// custom replaces these for a signal of the host's own.
	custom *CustomSignal
	// priorityFirst: requests don't count, and what is not known matters only
	// among equals.
	priorityFirst bool
}

func none(*key) exact             { return exact{} }
func memoryRequest(k *key) exact  { return k.memory }
func storageRequest(k *key) exact { return k.storage }

// rankingOf is how pods are ranked when a signal is short.
func (p Policy) rankingOf(s Signal) ranking {
	r := ranking{signal: s, resource: p.meaning(s).Resource, request: none, baseline: none}
	if custom, ok := p.Custom[s]; ok {
		r.custom = &custom
		return r
	}
	on := p.Layout.partsOn(s)
	switch r.resource {
	case v1.ResourceMemory:
		r.request, r.baseline = memoryRequest, memoryRequest
		r.usage = func(u *use) int64 { return u.memory }
	case v1.ResourceEphemeralStorage:
		r.request, r.baseline = storageRequest, storageRequest
		r.usage = func(u *use) int64 { return u.bytes.on(on) }
	case resourceInodes:
		r.baseline = storageRequest
		r.usage = func(u *use) int64 { return u.inodes.on(on) }
	default:
		r.priorityFirst = true
		r.usage = func(u *use) int64 { return u.processes }
	}
	return r
}

// place measures one pod.
func (r *ranking) place(pods *Pods, at int) place {
	k := &pods.keys[at]
	p := place{at: at, order: k.order, priority: k.priority}
	if r.custom != nil {
		return r.placeCustom(p, pods)
	}
	u := pods.measured(at)
	if u == nil {
		return p
	}
	p.measured, p.usage = true, r.usage(u)
	p.exceeds, p.over = r.request(k).exceeds(p.usage), r.baseline(k).excess(p.usage)
	return p
}

// placeCustom asks the host.
func (r *ranking) placeCustom(p place, pods *Pods) place {
	pod := pods.kept[p.at].pod
	p.measured = true
	if r.custom.Usage != nil {
		p.usage, p.measured = r.custom.Usage(pod, pods.stats(p.at))
	}
	if !p.measured {
		p.usage = 0
		return p
	}
	p.usage = max(p.usage, 0)
	request := r.customRequest(pod)
	p.exceeds, p.over = request.exceeds(p.usage), request.excess(p.usage)
	return p
}

func (r *ranking) customRequest(pod *v1.Pod) exact {
	if r.custom.Request == nil {
		return exact{}
	}
	return exact{units: max(0, r.custom.Request(pod))}
}

// asked is the request that a pod's usage is held against.
func (r *ranking) asked(pods *Pods, at int) exact {
	if r.custom != nil {
		return r.customRequest(pods.kept[at].pod)
	}
	return r.request(&pods.keys[at])
}

// compare is negative when a goes before b: what is not measured first, then
// what uses more than it asked for, then the lower priority, then the larger
// excess, then who came first.
func (r *ranking) compare(a, b *place) int {
	priority := cmp.Compare(a.priority, b.priority)
	if r.priorityFirst && priority != 0 {
		return priority
	}
	if c := trueFirst(!a.measured, !b.measured); c != 0 {
		return c
	}
	if !r.priorityFirst {
		if c := trueFirst(a.exceeds, b.exceeds); c != 0 {
			return c
		}
		if priority != 0 {
			return priority
		}
	}
	if c := b.over.compare(a.over); c != 0 {
		return c
	}
	return cmp.Compare(a.order, b.order)
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// first finds the pod that goes first of those that may, in one pass. It tells
// where it is, -1 when there is none.
func (r *ranking) first(pods *Pods, spare map[types.UID]string) int {
	best := place{at: -1}
	for at := range pods.Len() {
		if pods.keys[at].protected || len(spare) > 0 && spare[pods.kept[at].pod.UID] != "" {
			continue
		}
		if p := r.place(pods, at); best.at < 0 || r.compare(&p, &best) < 0 {
			best = p
		}
	}
	return best.at
}

// Place is a pod's place in a ranking.
type Place struct {
	Pod *v1.Pod `json:"-"`
	// Protected says why the pod may not go, "" when it may.
	Protected string `json:"protected,omitempty"`
	// Measured tells whether its usage is known.
	Measured bool `json:"measured"`
	// Usage and Request are bytes, inodes or processes; Request is rounded
	// down.
	Usage   int64 `json:"usage"`
	Request int64 `json:"request"`
	// Exceeds tells whether it uses more than it asked for.
	Exceeds  bool  `json:"exceeds"`
	Priority int32 `json:"priority"`
	// Reason says in words what put it there.
	Reason string `json:"reason"`
}

// all ranks every pod, protected ones too.
func (r *ranking) all(pods *Pods, spare map[types.UID]string) []Place {
	places := make([]place, pods.Len())
	for at := range places {
		places[at] = r.place(pods, at)
	}
	slices.SortFunc(places, func(a, b place) int { return r.compare(&a, &b) })
	ranked := make([]Place, len(places))
	for i := range places {
		ranked[i] = r.tell(pods, &places[i], spare)
	}
	return ranked
}

func (r *ranking) tell(pods *Pods, p *place, spare map[types.UID]string) Place {
	c := pods.kept[p.at]
	told := Place{
		Pod: c.pod, Protected: stays(c, spare), Measured: p.measured, Usage: p.usage,
		Request: r.asked(pods, p.at).units, Exceeds: p.exceeds, Priority: p.priority,
	}
	told.Reason = r.reason(told)
	if told.Protected != "" {
		told.Reason = "stays: " + told.Protected + "; " + told.Reason
	}
	return told
}

// reason puts a place in words, its keys in the order in which they count.
func (r *ranking) reason(p Place) string {
	priority := fmt.Sprintf("priority %d", p.Priority)
	if !p.Measured {
		return "its usage is not known, " + priority
	}
	usage := fmt.Sprintf("uses %s of %s", r.amount(p.Usage), r.resource)
	switch {
	case r.priorityFirst:
		return priority + ", " + usage
	case p.Exceeds:
		return fmt.Sprintf("%s, more than its request of %s, %s", usage, r.amount(p.Request), priority)
	}
	return fmt.Sprintf("%s, within its request of %s, %s", usage, r.amount(p.Request), priority)
}

func (r *ranking) amount(n int64) string {
	return resource.NewQuantity(n, formatOf(r.resource)).String()
}

func formatOf(name v1.ResourceName) resource.Format {
	if countsPieces(name) {
		return resource.DecimalSI
	}
	return resource.BinarySI
}
