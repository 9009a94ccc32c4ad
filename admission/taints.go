package admission

import (
	"cmp"
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// ReasonTaintToleration says that the pod does not tolerate a taint of the node.
const ReasonTaintToleration = "TaintToleration"

const messageTaintToleration = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"

// Taints checks that the pod tolerates the node's taints of effect NoExecute;
// other effects are the scheduler's matter. Static pods are not asked.
type Taints struct{}

// Class is Predicate.
func (Taints) Class() Class { return Predicate }

// Admit rejects a pod that the node's taints would drive away at once.
func (Taints) Admit(_ context.Context, req Request) (Verdict, error) {
	if req.Node == nil {
		return Verdict{}, errNoNode
	}
	for i := range req.Node.Spec.Taints {
		taint := &req.Node.Spec.Taints[i]
		if taint.Effect == v1.TaintEffectNoExecute && !Tolerates(req.Pod, taint) && !IsStatic(req.Pod) {
			return Rejected(ReasonTaintToleration, messageTaintToleration), nil
		}
	}
	return Admitted(), nil
}

// Tolerates tells whether one of the pod's tolerations covers the taint, by the
// rules of v1.36: Lt and Gt match nothing while their feature gate is off.
//
// It is the one place that hands component-helpers the klog logger that its
// signature asks for; the empty one is silent.
func Tolerates(pod *v1.Pod, taint *v1.Taint) bool {
	return taint == nil || corev1.TolerationsTolerateTaint(klog.Logger{}, cmp.Or(pod, nobody).Spec.Tolerations, taint, false)
}
