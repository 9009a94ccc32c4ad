package admission

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// NodeFit checks that the node has room: pods, cpu, memory, ephemeral storage,
// then the other resources by name, in the kubelet's order. Extended resources
// that the node does not list at all are not asked for, so that a static pod
// that names an unknown device runs. Any other resource that the node does not
// list is one of which it has none: a node for a test needs "pods" too.
type NodeFit struct{}

// Shortage is one resource of which a node has too little: cpu in millicores,
// pods as a count, all else in base units.
type Shortage struct {
	Resource  v1.ResourceName
	Requested int64
	Used      int64
	Capacity  int64
}

// Reason is the kubelet's Reason for a pod that is refused for this.
func (s Shortage) Reason() string { return "OutOf" + string(s.Resource) }

// Message is the kubelet's sentence for it.
func (s Shortage) Message() string {
	return fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
		s.Resource, s.Requested, s.Used, s.Capacity)
}

var errNoNode = errors.New("no node to judge against: the chain's NodeGetter is missing or gave none")

// Admit rejects the pod for the first thing that the node is short of.
func (NodeFit) Admit(_ context.Context, req Request) (Verdict, error) {
	if req.Node == nil {
		return Verdict{}, errNoNode
	}
	short := Shortages(req.Pod, req.Node.Status.Allocatable, req.Ledger)
	if len(short) == 0 {
		return Admitted(), nil
	}
	return Rejected(short[0].Reason(), short[0].Message()), nil
}

// Shortages lists all that the node lacks for the pod, in the kubelet's order;
// scalar resources by name, where the kubelet has them in any order.
func Shortages(pod *v1.Pod, allocatable v1.ResourceList, ledger *Ledger) []Shortage {
	var short []Shortage
	lack := func(name v1.ResourceName, requested, used, capacity int64) {
		if requested > 0 && requested > capacity-used {
			short = append(short, Shortage{name, requested, used, capacity})
		}
	}
	pods := int64(ledger.Pods())
	lack(v1.ResourcePods, 1, pods, value(allocatable[v1.ResourcePods]))

	want := PodRequests(pod)
	if want.zero() {
		return short
	}
	have, used := requestsOf(allocatable), ledger.Used()
	lack(v1.ResourceCPU, want.MilliCPU, used.MilliCPU, have.MilliCPU)
	lack(v1.ResourceMemory, want.Memory, used.Memory, have.Memory)
	lack(v1.ResourceEphemeralStorage, want.EphemeralStorage, used.EphemeralStorage, have.EphemeralStorage)
	for _, name := range want.scalarNames() {
		if _, listed := allocatable[name]; !listed && isExtended(name) {
			continue
		}
		lack(name, want.Scalar[name], used.Scalar[name], have.Scalar[name])
	}
	return short
}

// NodePorts checks that the host ports that a pod asks for are free.
type NodePorts struct {
	// Of gives the ports that a pod takes of the node; nil is [HostPorts]. A
	// host whose containers share the node's network gives all their ports,
	// and enters its pods with [Chain.HostPorts] set alike.
	Of func(*v1.Pod) []v1.ContainerPort
}

// Admit rejects a pod that asks for a port that another pod holds.
func (c NodePorts) Admit(_ context.Context, req Request) (Verdict, error) {
	of := c.Of
	if of == nil {
		of = HostPorts
	}
	for _, p := range of(req.Pod) {
		if req.Ledger.HostPortTaken(p) {
			return Rejected("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"), nil
		}
	}
	return Admitted(), nil
}
