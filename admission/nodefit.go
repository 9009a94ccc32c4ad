package admission

import (
	"context"
	"fmt"
	"math"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// NodeFit checks that the node has room: pods, cpu, memory, ephemeral storage,
// then the other resources by name, in the kubelet's order. Extended resources
// of containers that the node does not list at all are not asked for, so that a
// static pod that names an unknown device runs. Any other resource that the node
// does not list is one of which it has none: a node for a test needs "pods" too.
type NodeFit struct {
	// Devices may raise what the node has for a pod that holds devices already,
	// as while device plugins come back after a restart; nil leaves the node's
	// allocatable as it is.
	Devices DeviceResources
}

// DeviceResources gives the allocatable that a pod is to be judged by: the
// node's, or a changed copy. When it fails the pod is tried again.
type DeviceResources func(ctx context.Context, pod *v1.Pod, allocatable v1.ResourceList) (v1.ResourceList, error)

// Shortage is one resource of which a node has too little: cpu in millicores,
// pods as a count, all else in base units.
type Shortage struct {
	Resource  v1.ResourceName `json:"resource"`
	Requested int64           `json:"requested"`
	Used      int64           `json:"used"`
	Capacity  int64           `json:"capacity"`
}

// Reason is the kubelet's Reason for a pod that is refused for this.
func (s Shortage) Reason() string {
	switch s.Resource { // the usual ones without an allocation: see Message
	case v1.ResourceCPU:
		return "OutOfcpu"
	case v1.ResourceMemory:
		return "OutOfmemory"
	case v1.ResourcePods:
		return "OutOfpods"
	}
	return "OutOf" + string(s.Resource)
}

// Message is the kubelet's sentence for it.
func (s Shortage) Message() string {
	// Not by fmt: a rejection should cost no more than an admission.
	var room [160]byte
	b := append(room[:0], "Node didn't have enough resource: "...)
	b = append(b, s.Resource...)
	b = strconv.AppendInt(append(b, ", requested: "...), s.Requested, 10)
	b = strconv.AppendInt(append(b, ", used: "...), s.Used, 10)
	b = strconv.AppendInt(append(b, ", capacity: "...), s.Capacity, 10)
	return string(b)
}

// Missing is how much is missing: what must become free for the pod to fit. It
// is more than what was requested on a node that is over its capacity already.
func (s Shortage) Missing() int64 {
	missing := s.Requested - (s.Capacity - s.Used)
	if missing < 0 && s.Requested > 0 {
		return math.MaxInt64
	}
	return missing
}

// Class is Predicate.
func (NodeFit) Class() Class { return Predicate }

// Admit rejects the pod for all that the node is short of; the first gives the
// Reason.
func (f NodeFit) Admit(ctx context.Context, req Request) (Verdict, error) {
	if req.Node == nil {
		return Verdict{}, errNoNode
	}
	if req.Ledger == nil {
		return Verdict{}, errNoLedger
	}
	allocatable := req.Node.Status.Allocatable
	if f.Devices != nil {
		var err error
		if allocatable, err = f.Devices(ctx, req.Pod, allocatable); err != nil {
			return RetryLater(ReasonUnexpectedAdmissionError,
				fmt.Sprintf("Update plugin resources failed due to %v, which is unexpected.", err), 0), nil
		}
	}
	return RejectedShort(shortages(req.Prepared(), allocatable, req.Ledger)), nil
}

// Shortages lists all that the node lacks for the pod, in the kubelet's order;
// scalar resources by name, where the kubelet has them in any order. A nil ledger
// is an empty one.
func Shortages(pod *v1.Pod, allocatable v1.ResourceList, ledger *Ledger) []Shortage {
	if ledger == nil {
		ledger = &Ledger{}
	}
	return shortages(Prepare(pod), allocatable, ledger)
}

func shortages(p *Prepared, allocatable v1.ResourceList, ledger *Ledger) []Shortage {
	var short []Shortage
	lack := func(name v1.ResourceName, requested int64) {
		if requested <= 0 {
			return
		}
		used, capacity := ledger.UsedOf(name), amountOf(allocatable, name)
		if requested > capacity-used {
			short = append(short, Shortage{name, requested, used, capacity})
		}
	}
	lack(v1.ResourcePods, 1)
	lack(v1.ResourceCPU, p.requests.MilliCPU)
	lack(v1.ResourceMemory, p.requests.Memory)
	lack(v1.ResourceEphemeralStorage, p.requests.EphemeralStorage)
	for _, name := range p.names {
		lack(name, p.asked(name, allocatable))
	}
	return short
}

// asked is what the pod asks of a scalar resource: nothing for the containers if it
// is an extended one that the node does not list.
func (p *Prepared) asked(name v1.ResourceName, allocatable v1.ResourceList) int64 {
	if _, listed := allocatable[name]; !listed && isExtended(name) {
		return amountOf(p.pod.Spec.Overhead, name)
	}
	return p.requests.Scalar[name]
}

// NodePorts checks that the host ports that a pod takes are free: those that its
// chain counts, see [Chain.HostPorts].
type NodePorts struct{}

// Class is Predicate.
func (NodePorts) Class() Class { return Predicate }

// Admit rejects a pod that asks for a port that another pod holds.
func (NodePorts) Admit(_ context.Context, req Request) (Verdict, error) {
	for _, p := range req.Prepared().ports {
		if req.Ledger.portTaken(p) {
			return Rejected(ReasonNodePorts, messageNodePorts), nil
		}
	}
	return Admitted(), nil
}
