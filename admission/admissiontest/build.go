package admissiontest

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
)

// PodBuilder makes a pod in one line of a table; its Pod is the pod. Methods
// change that pod and return the builder.
type PodBuilder struct {
	Pod *v1.Pod
}

// NewPod begins with a pod in the namespace default, its UID its name, with one
// container that requests what is given, as "cpu=500m". Like [resource.MustParse]
// it panics on what is no quantity: it is for what a test spells out.
func NewPod(name string, requests ...string) PodBuilder {
	return PodBuilder{&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "main", Resources: v1.ResourceRequirements{Requests: Resources(requests...)},
		}}},
	}}
}

// Priority sets the pod's priority.
func (b PodBuilder) Priority(priority int32) PodBuilder {
	b.Pod.Spec.Priority = &priority
	return b
}

// Critical sets the lowest priority that is critical.
func (b PodBuilder) Critical() PodBuilder { return b.Priority(admission.CriticalPriority) }

// Static makes it a static pod, defined by a file.
func (b PodBuilder) Static() PodBuilder {
	b.Pod.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	return b
}

// HostPorts has its container ask for ports of the node.
func (b PodBuilder) HostPorts(ports ...int32) PodBuilder {
	c := &b.Pod.Spec.Containers[0]
	for _, p := range ports {
		c.Ports = append(c.Ports, v1.ContainerPort{HostPort: p, ContainerPort: p})
	}
	return b
}

// Limits limits its container, as "memory=1Gi".
func (b PodBuilder) Limits(limits ...string) PodBuilder {
	b.Pod.Spec.Containers[0].Resources.Limits = Resources(limits...)
	return b
}

// NewNode is a linux node with the allocatable given, as "cpu=4", and room for 110
// pods unless "pods=" says otherwise. It panics as [NewPod] does.
func NewNode(name string, allocatable ...string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelOSStable: string(v1.Linux),
		}},
		Status: v1.NodeStatus{Allocatable: Resources(append([]string{"pods=110"}, allocatable...)...)},
	}
}

// NewChain is a chain with all checks of the kubelet for a linux node on which
// the pods run. It panics when a pod is given twice.
func NewChain(node *v1.Node, running ...*v1.Pod) *admission.Chain {
	chain := &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes:  admission.FixedNode(node),
		Checks: admission.KubeletChecks(admission.Kubelet{}),
		OS:     "linux",
	}
	for _, pod := range running {
		if err := chain.Enter(pod); err != nil {
			panic(fmt.Sprintf("admissiontest: %v", err))
		}
	}
	return chain
}

// Resources is a list of resources as "cpu=500m"; the last of a name counts. It
// panics as [NewPod] does.
func Resources(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for _, pair := range pairs {
		name, quantity, ok := strings.Cut(pair, "=")
		if !ok {
			panic(fmt.Sprintf("admissiontest: %q is not name=quantity", pair))
		}
		list[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}
