package eviction

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	helpers "k8s.io/component-helpers/resource"
)

// storageLimits are what a pod may take of the node's disks. Limits of zero and
// below are none.
type storageLimits struct {
	emptyDirs  []namedLimit
	pod        *resource.Quantity
	containers []namedLimit
}

type namedLimit struct {
	name  string
	limit resource.Quantity
}

// limitsOf collects a pod's limits, nil when it has none.
func limitsOf(pod *v1.Pod) *storageLimits {
	var l storageLimits
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Sign() > 0 {
			l.emptyDirs = append(l.emptyDirs, namedLimit{v.Name, *v.EmptyDir.SizeLimit})
		}
	}
	// PodLimits would add the overhead to limits of the pod's spec itself.
	if q := helpers.PodLimits(pod, helpers.PodResourcesOptions{ExcludeOverhead: true})[v1.ResourceEphemeralStorage]; !q.IsZero() {
		if q.Add(pod.Spec.Overhead[v1.ResourceEphemeralStorage]); q.Sign() > 0 {
			l.pod = &q
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if q, ok := c.Resources.Limits[v1.ResourceEphemeralStorage]; ok && q.Sign() > 0 {
			l.containers = append(l.containers, namedLimit{c.Name, q})
		}
	}
	if len(l.emptyDirs) == 0 && l.pod == nil && len(l.containers) == 0 {
		return nil
	}
	return &l
}

// overLimits finds the pods that took more than their limits, in the order in
// which they came. All of them go, whatever the pressure; protected ones are
// skipped.
func overLimits(in Input) []Victim {
	if !in.Policy.LocalStorageLimits || in.Pods == nil {
		return nil
	}
	var over []int
	for _, l := range in.Pods.limited {
		if l.over && l.round == in.Pods.round && stays(in.Pods.kept[l.place], in.Spare) == "" {
			over = append(over, l.place)
		}
	}
	slices.SortFunc(over, func(a, b int) int { return cmp.Compare(in.Pods.keys[a].order, in.Pods.keys[b].order) })
	var victims []Victim
	for _, place := range over {
		c := in.Pods.kept[place]
		if message := c.limits.breach(c.stats, in.Policy.Layout); message != "" {
			victims = append(victims, overLimit(c.pod, message))
		}
	}
	return victims
}

// stays says why a pod may not go, "" when it may.
func stays(c *candidate, spare map[types.UID]string) string {
	if c.protected != "" || len(spare) == 0 {
		return c.protected
	}
	return spare[c.pod.UID]
}

// breach is the message of the first limit that is exceeded, "" for none.
func (l *storageLimits) breach(s *PodStats, layout Layout) string {
	for i := range l.emptyDirs {
		d := &l.emptyDirs[i]
		if used := volumeUsage(s, d.name); used != nil && used.UsedBytes != nil && above(bytes(used), &d.limit) {
			return fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", d.name, d.limit.String())
		}
	}
	if l.pod != nil && s.EphemeralStorage != nil && above(bytes(s.EphemeralStorage), l.pod) {
		return fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", l.pod.String())
	}
	if len(l.containers) == 0 {
		return ""
	}
	for i := range s.Containers {
		c := &s.Containers[i]
		limit := l.container(c.Name)
		if limit == nil {
			continue
		}
		used := bytes(c.Logs)
		if !layout.DedicatedImageFs {
			used = saturatingAdd(used, bytes(c.Rootfs))
		}
		if above(used, limit) {
			return fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.Name, limit.String())
		}
	}
	return ""
}

func (l *storageLimits) container(name string) *resource.Quantity {
	for i := range l.containers {
		if l.containers[i].name == name {
			return &l.containers[i].limit
		}
	}
	return nil
}

func above(used int64, limit *resource.Quantity) bool { return limit.CmpInt64(used) < 0 }

// volumeUsage is what a pod's volume takes, nil when that is not known.
func volumeUsage(s *PodStats, name string) *FsStats {
	for i := range s.Volumes {
		if s.Volumes[i].Name == name {
			return &s.Volumes[i].FsStats
		}
	}
	return nil
}

// bytes is the space used, zero when it is not known.
func bytes(fs *FsStats) int64 {
	if fs == nil {
		return 0
	}
	return number(fs.UsedBytes)
}

// inodes is the number of inodes used, zero when it is not known.
func inodes(fs *FsStats) int64 {
	if fs == nil {
		return 0
	}
	return number(fs.InodesUsed)
}

// number is a measured number, zero when it is not known.
func number(n *uint64) int64 {
	switch {
	case n == nil:
		return 0
	case *n > math.MaxInt64:
		return math.MaxInt64
	}
	return int64(*n)
}
