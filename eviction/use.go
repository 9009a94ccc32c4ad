package eviction

import "k8s.io/apimachinery/pkg/types"

// use is what a pod was measured to use, added up by what a ranking may look at.
type use struct {
	memory, processes int64
	bytes, inodes     partSums
	round             uint32 // see Pods.round
}

// partSums are amounts on disk by the parts of a [Layout].
type partSums struct{ rootfs, logs, volumes int64 }

// on is what of them lies on a file system.
func (s *partSums) on(p parts) (sum int64) {
	if p.rootfs {
		sum = s.rootfs
	}
	if p.logs {
		sum = saturatingAdd(sum, s.logs)
	}
	if p.volumes {
		sum = saturatingAdd(sum, s.volumes)
	}
	return sum
}

// Measure notes what a pod uses, until it is measured anew; nil is that it has no
// stats. A pod that is not there is no error. The stats are kept, and must not
// change meanwhile.
func (p *Pods) Measure(uid types.UID, stats *PodStats) {
	if place, known := p.places[uid]; known {
		p.measure(place, stats)
	}
}

// MeasureAll measures all pods by the stats of a [Summary]; those that are not
// among them have none.
func (p *Pods) MeasureAll(stats []PodStats) {
	p.Unmeasure()
	for i := range stats {
		p.Measure(stats[i].PodRef.UID, &stats[i])
	}
}

// Unmeasure takes all stats away, at the beginning of a round. It costs the same
// however many pods there are.
func (p *Pods) Unmeasure() {
	if p.round++; p.round == 0 { // once around
		clear(p.uses)
		p.round = 1
	}
}

func (p *Pods) measure(place int, stats *PodStats) {
	c, u := p.kept[place], &p.uses[place]
	c.stats = stats
	if c.inner >= 0 {
		over := stats != nil && c.limits.breach(stats, Layout{}) != ""
		p.limited[c.inner].round, p.limited[c.inner].over = p.round, over
	}
	if *u = (use{}); stats == nil {
		return
	}
	u.round = p.round
	u.memory, u.processes = memoryUsage(stats), processes(stats)
	for i := range stats.Containers {
		s := &stats.Containers[i]
		u.bytes.rootfs, u.inodes.rootfs = saturatingAdd(u.bytes.rootfs, bytes(s.Rootfs)), saturatingAdd(u.inodes.rootfs, inodes(s.Rootfs))
		u.bytes.logs, u.inodes.logs = saturatingAdd(u.bytes.logs, bytes(s.Logs)), saturatingAdd(u.inodes.logs, inodes(s.Logs))
	}
	for _, name := range c.volumes {
		v := volumeUsage(stats, name)
		u.bytes.volumes, u.inodes.volumes = saturatingAdd(u.bytes.volumes, bytes(v)), saturatingAdd(u.inodes.volumes, inodes(v))
	}
}

// measured is what a pod was measured to use in this round, nil when it was not.
func (p *Pods) measured(place int) *use {
	if u := &p.uses[place]; u.round == p.round {
		return u
	}
	return nil
}

// stats are those that a pod was measured by in this round, nil when it has none.
func (p *Pods) stats(place int) *PodStats {
	if p.measured(place) == nil {
		return nil
	}
	return p.kept[place].stats
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
