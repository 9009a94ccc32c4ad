package admission

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	helpers "k8s.io/component-helpers/resource"
)

// Requests is what a pod asks of a node, or what a node can give, in whole
// numbers: cpu in millicores, all else in its base unit, each rounded up. A
// quantity beyond int64 counts as the largest one, so that it fits nowhere, and
// a negative one as zero. Sums are made by apimachinery, which writes out what is
// as large as 1e999999999 digit by digit: hosts refuse that where they decode, as
// package manifest does.
type Requests struct {
	MilliCPU         int64 `json:"milliCPU,omitzero"`
	Memory           int64 `json:"memory,omitzero"`
	EphemeralStorage int64 `json:"ephemeralStorage,omitzero"`
	// Scalar holds extended resources, hugepages and attachable volumes; nil
	// when there are none.
	Scalar map[v1.ResourceName]int64 `json:"scalar,omitzero"`
}

// PodRequests returns the effective requests of a pod: the larger of its
// containers with sidecars and of each init step, pod-level requests in place
// of the sum, overhead on top.
func PodRequests(pod *v1.Pod) Requests {
	return requestsBy(cmp.Or(pod, nobody), helpers.PodResourcesOptions{})
}

// sums are the lists that requests are summed up in before they are counted.
var sums = sync.Pool{New: func() any { return make(v1.ResourceList) }}

func requestsBy(pod *v1.Pod, opts helpers.PodResourcesOptions) Requests {
	sum := sums.Get().(v1.ResourceList)
	defer sums.Put(sum)
	opts.Reuse, opts.ExcludeOverhead = sum, true
	list := helpers.PodRequests(pod, opts)
	for name, over := range pod.Spec.Overhead {
		addTo(list, name, over)
	}
	return requestsOf(list)
}

// addTo adds an amount to one of a list. PodRequests, which would add the overhead
// too, and its lists share numbers of many digits with the pod: it would write into
// the pod's spec.
func addTo(list v1.ResourceList, name v1.ResourceName, q resource.Quantity) {
	sum := list[name].DeepCopy()
	sum.Add(q)
	list[name] = sum
}

// runningRequests is what a pod holds that was admitted before: for a container
// with resources in its status the largest of desired, allocated and actual.
func runningRequests(pod *v1.Pod) Requests {
	return requestsBy(pod, helpers.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
}

func requestsOf(list v1.ResourceList) Requests {
	var r Requests
	for name, q := range list {
		switch {
		case name == v1.ResourceCPU:
			r.MilliCPU = milliValue(q)
		case name == v1.ResourceMemory:
			r.Memory = value(q)
		case name == v1.ResourceEphemeralStorage:
			r.EphemeralStorage = value(q)
		case isScalar(name):
			if r.Scalar == nil {
				r.Scalar = make(map[v1.ResourceName]int64)
			}
			r.Scalar[name] = value(q)
		}
	}
	return r
}

// isScalar tells whether a resource is counted although it is none of the
// named ones. Other names without a prefix are ignored on both sides.
func isScalar(name v1.ResourceName) bool {
	s := string(name)
	return isExtended(name) ||
		strings.HasPrefix(s, v1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(s, v1.ResourceAttachableVolumesPrefix) ||
		strings.Contains(s, v1.ResourceDefaultNamespacePrefix)
}

// isExtended tells whether a resource is of somebody else's domain: its node
// may lack it without the pod being refused.
func isExtended(name v1.ResourceName) bool {
	s := string(name)
	if !strings.Contains(s, "/") || strings.Contains(s, v1.ResourceDefaultNamespacePrefix) ||
		strings.HasPrefix(s, v1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+s)) == 0
}

func milliValue(q resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64/1000) >= 0 {
		return math.MaxInt64
	}
	return max(q.MilliValue(), 0)
}

func value(q resource.Quantity) int64 {
	if n, ok := q.AsInt64(); ok {
		return max(n, 0) // the usual case, which needs no big numbers
	}
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64
	}
	return max(q.Value(), 0)
}

// scalarNames are the names of the scalar resources in order.
func (r Requests) scalarNames() []v1.ResourceName {
	if len(r.Scalar) == 0 {
		return nil
	}
	names := make([]v1.ResourceName, 0, len(r.Scalar))
	for name := range r.Scalar {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isDeviceClass tells whether a resource stands for a device class, which a
// resource claim satisfies.
func isDeviceClass(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), "deviceclass.resource.kubernetes.io/")
}

// Of is the amount of one resource: cpu in millicores, one pod for "pods", zero
// for what is not counted.
func (r Requests) Of(name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return r.MilliCPU
	case v1.ResourceMemory:
		return r.Memory
	case v1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	case v1.ResourcePods:
		return 1
	default:
		return r.Scalar[name]
	}
}

// List is the requests as quantities, without those that are zero.
func (r Requests) List() v1.ResourceList {
	list := make(v1.ResourceList)
	add := func(name v1.ResourceName, q *resource.Quantity) {
		if !q.IsZero() {
			list[name] = *q
		}
	}
	add(v1.ResourceCPU, resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI))
	add(v1.ResourceMemory, resource.NewQuantity(r.Memory, resource.BinarySI))
	add(v1.ResourceEphemeralStorage, resource.NewQuantity(r.EphemeralStorage, resource.BinarySI))
	for name, n := range r.Scalar {
		add(name, resource.NewQuantity(n, resource.DecimalSI))
	}
	return list
}

// Zero tells whether there is nothing of any resource.
func (r Requests) Zero() bool {
	for _, n := range r.Scalar {
		if n != 0 {
			return false
		}
	}
	return r.MilliCPU == 0 && r.Memory == 0 && r.EphemeralStorage == 0
}

// Less is what there is more in r than in other; the caller owns it.
func (r Requests) Less(other Requests) Requests {
	less := Requests{
		MilliCPU:         max(r.MilliCPU-other.MilliCPU, 0),
		Memory:           max(r.Memory-other.Memory, 0),
		EphemeralStorage: max(r.EphemeralStorage-other.EphemeralStorage, 0),
	}
	for name, n := range r.Scalar {
		if n > other.Scalar[name] {
			if less.Scalar == nil {
				less.Scalar = make(map[v1.ResourceName]int64)
			}
			less.Scalar[name] = n - other.Scalar[name]
		}
	}
	return less
}

// amountOf is the amount of one resource in a list.
func amountOf(list v1.ResourceList, name v1.ResourceName) int64 {
	q, ok := list[name]
	switch {
	case !ok:
		return 0
	case name == v1.ResourceCPU:
		return milliValue(q)
	}
	return value(q)
}
