package eviction

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// AdmitHandler keeps pods out while the node is under pressure. It is an
// [admission.AdmitHandler], and safe for concurrent use.
type AdmitHandler struct {
	// Conditions gives the reported conditions: [Manager.Conditions], or what
	// a host knows by itself. Nil is none, ever.
	Conditions func() []v1.NodeConditionType
	// Critical tells which pods come in whatever the pressure; nil is
	// [admission.IsCritical], the rule of the kubelet.
	Critical func(*v1.Pod) bool
}

// NewAdmitHandler returns the kubelet's handler over these conditions.
func NewAdmitHandler(conditions func() []v1.NodeConditionType) *AdmitHandler {
	return &AdmitHandler{Conditions: conditions}
}

// Admit lets everything in while no condition is reported, and critical pods
// always. While memory alone is short, it lets in pods that are not BestEffort,
// and those that tolerate the memory-pressure taint. All else is refused.
func (h *AdmitHandler) Admit(_ context.Context, req admission.Request) (admission.Verdict, error) {
	critical := h.Critical
	if critical == nil {
		critical = admission.IsCritical
	}
	var conditions []v1.NodeConditionType
	if h.Conditions != nil {
		conditions = slices.SortedFunc(slices.Values(h.Conditions()), byCondition)
	}
	if len(conditions) == 0 || critical(req.Pod) {
		return admission.Admitted(), nil
	}
	if len(conditions) == 1 && conditions[0] == v1.NodeMemoryPressure && endures(req.Pod) {
		return admission.Admitted(), nil
	}
	return admission.Rejected(Reason, fmt.Sprintf("The node had condition: %v. ", conditions)), nil
}

// Class is PodAlone: the handler knows the conditions by itself.
func (h *AdmitHandler) Class() admission.Class { return admission.PodAlone }

// endures tells whether a pod may come in although memory is short.
func endures(pod *v1.Pod) bool {
	return admission.QOS(pod) != v1.PodQOSBestEffort || admission.Tolerates(pod, &memoryPressureTaint)
}

// memoryPressureTaint is what a node gets that is short of memory.
var memoryPressureTaint = v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
