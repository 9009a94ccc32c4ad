package admission

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Reasons of the checks of what a node is: they come before the predicates, for
// no preemption can cure them.
const (
	ReasonOSLabel      = "PodOSSelectorNodeLabelDoesNotMatch"
	ReasonOSField      = "PodOSNotSupported"
	ReasonGroupsPolicy = "SupplementalGroupsPolicyNotSupported"
)

// OSLabel checks the label kubernetes.io/os of the pod itself, if it has one,
// against the node's operating system. The pod's node selector is none of its
// business: that is [NodeAffinity]'s.
type OSLabel struct{}

// Admit rejects a pod that is labelled with another operating system.
func (OSLabel) Admit(_ context.Context, req Request) (Verdict, error) {
	if os, ok := req.Pod.Labels[v1.LabelOSStable]; ok && os != osOr(req.OS) {
		return Rejected(ReasonOSLabel, "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"), nil
	}
	return Admitted(), nil
}

// OSField checks the operating system that the pod's spec names, if it does.
type OSField struct{}

// Admit rejects a pod for another operating system.
func (OSField) Admit(_ context.Context, req Request) (Verdict, error) {
	if os := req.Pod.Spec.OS; os != nil && string(os.Name) != osOr(req.OS) {
		return Rejected(ReasonOSField, "Failed to admit pod as the OS field doesn't match node OS"), nil
	}
	return Admitted(), nil
}

// GroupsPolicy checks that the node can do the supplemental groups policy
// Strict for a pod that wants it. Merge every node can.
type GroupsPolicy struct{}

// Admit rejects a pod that wants Strict of a node that does not say it has it.
func (GroupsPolicy) Admit(_ context.Context, req Request) (Verdict, error) {
	sc := req.Pod.Spec.SecurityContext
	if sc == nil || sc.SupplementalGroupsPolicy == nil || *sc.SupplementalGroupsPolicy != v1.SupplementalGroupsPolicyStrict {
		return Admitted(), nil
	}
	if req.Node == nil {
		return Verdict{}, errNoNode
	}
	f := req.Node.Status.Features
	if f == nil || f.SupplementalGroupsPolicy == nil || !*f.SupplementalGroupsPolicy {
		return Rejected(ReasonGroupsPolicy, "SupplementalGroupsPolicy=Strict is not supported in this node"), nil
	}
	return Admitted(), nil
}
