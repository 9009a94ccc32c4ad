package eviction

import (
	"cmp"
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
)

// exact is a quantity that may be no whole number, in a form that compares
// fast: units rounded down, and billionths. It is never negative.
type exact struct {
	units int64
	nanos int32
}

func exactly(q resource.Quantity) exact {
	if q.Sign() <= 0 {
		return exact{}
	}
	up := ceil(q)
	if up == math.MaxInt64 || q.CmpInt64(up) == 0 {
		return exact{units: up}
	}
	rest := q.DeepCopy()
	rest.Sub(*resource.NewQuantity(up-1, resource.DecimalSI))
	return exact{units: up - 1, nanos: int32(rest.ScaledValue(resource.Nano))}
}

// exceeds tells whether a usage is above it.
func (e exact) exceeds(usage int64) bool { return usage > e.units }

// excess is a usage less a request.
type excess struct {
	units int64
	nanos int32 // to subtract
}

func (e exact) excess(usage int64) excess { return excess{units: usage - e.units, nanos: e.nanos} }

func (e excess) compare(f excess) int {
	if c := cmp.Compare(e.units, f.units); c != 0 {
		return c
	}
	return cmp.Compare(f.nanos, e.nanos)
}

// exactRequest is what the kubelet ranks a pod's usage by: with pod-level
// resources the containers' requests count for nothing, whatever the resource;
// overhead is added only to what is requested.
func exactRequest(pod *v1.Pod, name v1.ResourceName) exact {
	requests := helpers.PodRequests(pod, helpers.PodResourcesOptions{
		ExcludeOverhead:             true,
		SkipContainerLevelResources: helpers.IsPodLevelResourcesSet(pod),
	})
	q := requests[name].DeepCopy() // it may share its digits with the pod's spec
	if overhead, ok := pod.Spec.Overhead[name]; ok && !q.IsZero() {
		q.Add(overhead)
	}
	return exactly(q)
}
