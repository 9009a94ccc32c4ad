package eviction

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// podStats are the stats of pods by UID.
type podStats = map[types.UID]*PodStats

// place is a pod's place in the ranking, before it is known against whom.
type place struct {
	c        *candidate
	measured bool
	usage    int64
	exceeds  bool
	over     excess
}

// ranking measures pods by one signal.
type ranking struct {
	signal   Signal
	resource v1.ResourceName
	// usage is what a pod takes, and false where that is not known.
	usage func(c *candidate, s *PodStats) (int64, bool)
	// request is what usage is held against, and baseline what is taken off
	// the usage in comparisons; the kubelet has two for inodes.
	request, baseline func(c *candidate) exact
	// priorityFirst: requests don't count, and what is not known matters only
	// among equals.
	priorityFirst bool
}

func none(*candidate) exact             { return exact{} }
func memoryRequest(c *candidate) exact  { return c.memory }
func storageRequest(c *candidate) exact { return c.storage }

// rankingOf is how pods are ranked when a signal is short.
func (p Policy) rankingOf(s Signal) ranking {
	r := ranking{signal: s, resource: p.meaning(s).Resource, request: none, baseline: none}
	if custom, ok := p.Custom[s]; ok {
		return r.custom(custom)
	}
	on := p.Layout.partsOn(s)
	switch r.resource {
	case v1.ResourceMemory:
		r.request, r.baseline = memoryRequest, memoryRequest
		r.usage = measured(func(_ *candidate, s *PodStats) int64 { return memoryUsage(s) })
	case v1.ResourceEphemeralStorage:
		r.request, r.baseline = storageRequest, storageRequest
		r.usage = measured(func(c *candidate, s *PodStats) int64 { return diskUsage(c, s, on, bytes) })
	case resourceInodes:
		r.baseline = storageRequest
		r.usage = measured(func(c *candidate, s *PodStats) int64 { return diskUsage(c, s, on, inodes) })
	default:
		r.priorityFirst = true
		r.usage = measured(func(_ *candidate, s *PodStats) int64 { return processes(s) })
	}
	return r
}

// measured is the usage of pods that have stats.
func measured(usage func(*candidate, *PodStats) int64) func(*candidate, *PodStats) (int64, bool) {
	return func(c *candidate, s *PodStats) (int64, bool) {
		if s == nil {
			return 0, false
		}
		return usage(c, s), true
	}
}

func (r ranking) custom(custom CustomSignal) ranking {
	r.usage = func(*candidate, *PodStats) (int64, bool) { return 0, true }
	if custom.Usage != nil {
		r.usage = func(c *candidate, s *PodStats) (int64, bool) { return custom.Usage(c.pod, s) }
	}
	if custom.Request != nil {
		r.request = func(c *candidate) exact { return exact{units: max(0, custom.Request(c.pod))} }
		r.baseline = r.request
	}
	return r
}

func memoryUsage(s *PodStats) int64 {
	if s.Memory == nil {
		return 0
	}
	return number(s.Memory.WorkingSetBytes)
}

func processes(s *PodStats) int64 {
	if s.ProcessStats == nil {
		return 0
	}
	return number(s.ProcessStats.ProcessCount)
}

// diskUsage adds up what of a pod lies on a file system.
func diskUsage(c *candidate, s *PodStats, on parts, measure func(*FsStats) int64) int64 {
	var sum int64
	for i := range s.Containers {
		if on.rootfs {
			sum = saturatingAdd(sum, measure(s.Containers[i].Rootfs))
		}
		if on.logs {
			sum = saturatingAdd(sum, measure(s.Containers[i].Logs))
		}
	}
	if on.volumes {
		for _, name := range c.volumes {
			sum = saturatingAdd(sum, measure(volumeUsage(s, name)))
		}
	}
	return sum
}

// place measures one pod.
func (r *ranking) place(c *candidate, stats podStats) place {
	usage, ok := r.usage(c, stats[c.uid])
	if !ok {
		return place{c: c}
	}
	usage = max(usage, 0)
	return place{
		c: c, measured: true, usage: usage,
		exceeds: r.request(c).exceeds(usage),
		over:    r.baseline(c).excess(usage),
	}
}

// compare is negative when a goes before b: what is not measured first, then
// what uses more than it asked for, then the lower priority, then the larger
// excess, then who came first.
func (r *ranking) compare(a, b *place) int {
	priority := cmp.Compare(a.c.priority, b.c.priority)
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
	return cmp.Compare(a.c.order, b.c.order)
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

// first finds the pod that goes first of those that may, in one pass.
func (r *ranking) first(pods *Pods, stats podStats, spare map[types.UID]string) *candidate {
	var best place
	for _, c := range pods.list() {
		if stays(c, spare) != "" {
			continue
		}
		if p := r.place(c, stats); best.c == nil || r.compare(&p, &best) < 0 {
			best = p
		}
	}
	return best.c
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
func (r *ranking) all(pods *Pods, stats podStats, spare map[types.UID]string) []Place {
	places := make([]place, 0, pods.Len())
	for _, c := range pods.list() {
		places = append(places, r.place(c, stats))
	}
	slices.SortFunc(places, func(a, b place) int { return r.compare(&a, &b) })
	ranked := make([]Place, len(places))
	for i := range places {
		ranked[i] = r.tell(&places[i], stays(places[i].c, spare))
	}
	return ranked
}

func (r *ranking) tell(p *place, stays string) Place {
	told := Place{
		Pod: p.c.pod, Protected: stays, Measured: p.measured, Usage: p.usage,
		Request: r.request(p.c).units, Exceeds: p.exceeds, Priority: p.c.priority,
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
