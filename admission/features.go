package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	helpers "k8s.io/component-helpers/resource"
)

// Reasons of the checks of what an agent and its node can do.
const (
	ReasonPodLevelResources  = "PodLevelResourcesNotSupported"
	ReasonFeatureUnsupported = "PodFeatureUnsupported"
	ReasonNodeShutdown       = "NodeShutdown"
	// ReasonUpdateUnsupported is that of an event, not of a rejection.
	ReasonUpdateUnsupported = "FailedNodeDeclaredFeaturesCheck"
)

// PodLevelResources refuses pods that state resources for the pod as a whole
// where they can't be had: anywhere but on linux, or with the feature off.
type PodLevelResources struct {
	// Disabled is the feature gate turned off.
	Disabled bool
}

// Class is PodAlone.
func (PodLevelResources) Class() Class { return PodAlone }

// Admit rejects a pod with pod-level resources that are not supported.
func (f PodLevelResources) Admit(_ context.Context, req Request) (Verdict, error) {
	if !helpers.IsPodLevelResourcesSet(req.Pod) {
		return Admitted(), nil
	}
	os := osOr(req.OS)
	switch {
	case os == "windows":
		return Rejected(ReasonPodLevelResources, "pod-level resources are not supported on Windows"), nil
	case os != "linux":
		return Rejected(ReasonPodLevelResources, "pod-level resources are not supported on the node"), nil
	case f.Disabled:
		return Rejected(ReasonPodLevelResources, "PodLevelResources feature gate is disabled"), nil
	}
	return Admitted(), nil
}

// DeclaredFeatures checks that the node has the features that a pod's spec
// implies. Make one with [NewDeclaredFeatures]; it is safe for concurrent use.
type DeclaredFeatures struct {
	framework *nodedeclaredfeatures.Framework
	version   *version.Version
	has       nodedeclaredfeatures.FeatureSet
}

// NewDeclaredFeatures is for an agent of a Kubernetes version, as "1.36.3",
// that declared the features when it started. Features that nobody knows are
// passed over. The error names a version that can't be read.
func NewDeclaredFeatures(kubernetes string, declared ...string) (*DeclaredFeatures, error) {
	v, err := version.ParseSemantic(kubernetes)
	if err != nil {
		return nil, fmt.Errorf("declared features: version %q: %w", kubernetes, err)
	}
	f := nodedeclaredfeatures.DefaultFramework
	return &DeclaredFeatures{framework: f, version: v, has: f.TryMap(slices.Sorted(slices.Values(declared)))}, nil
}

// Class is PodAlone.
func (*DeclaredFeatures) Class() Class { return PodAlone }

// Admit rejects a pod that needs what the node does not declare; a nil check
// rejects none.
func (f *DeclaredFeatures) Admit(_ context.Context, req Request) (Verdict, error) {
	if f == nil {
		return Admitted(), nil
	}
	return f.match(f.framework.InferForPodScheduling(podInfo(req.Pod, len(req.Pod.Spec.InitContainers)), f.version)), nil
}

// Updated says what a change of the pod needs that the node does not declare; the
// Reason is that of the kubelet's event.
func (f *DeclaredFeatures) Updated(before, after *v1.Pod) Verdict {
	if f == nil {
		return Admitted()
	}
	// The framework takes it that both have the same init containers.
	inits := min(len(before.Spec.InitContainers), len(after.Spec.InitContainers))
	v := f.match(f.framework.InferForPodUpdate(podInfo(before, inits), podInfo(after, inits), f.version))
	if v.Outcome != Admit {
		v.Reason = ReasonUpdateUnsupported
	}
	return v
}

func podInfo(pod *v1.Pod, inits int) *nodedeclaredfeatures.PodInfo {
	spec := &pod.Spec
	if inits < len(spec.InitContainers) {
		own := pod.Spec
		own.InitContainers = own.InitContainers[:inits]
		spec = &own
	}
	return &nodedeclaredfeatures.PodInfo{Spec: spec, Status: &pod.Status}
}

// match compares what is wanted with what there is; err is why nobody knows what is
// wanted.
func (f *DeclaredFeatures) match(wanted nodedeclaredfeatures.FeatureSet, err error) Verdict {
	if err != nil {
		return Rejected(ReasonFeatureUnsupported, fmt.Sprintf("Failed to infer pod's feature requirements: %v", err))
	}
	if wanted.IsEmpty() {
		return Admitted()
	}
	match, err := f.framework.MatchNodeFeatureSet(wanted, f.has)
	switch {
	case err != nil:
		return Rejected(ReasonFeatureUnsupported,
			fmt.Sprintf("Failed to match pod's feature requirements against the node: %v", err))
	case !match.IsMatch:
		missing := slices.Sorted(slices.Values(match.UnsatisfiedRequirements))
		return Rejected(ReasonFeatureUnsupported,
			"Pod requires node features that are not available: "+strings.Join(missing, ", "))
	}
	return Admitted()
}

// MessageNodeShutdown is what a pod is told that comes while the node shuts
// down.
const MessageNodeShutdown = "Pod was rejected as the node is shutting down."

// NodeShutdown refuses every pod, critical and static ones too, while the node
// is shutting down.
type NodeShutdown struct {
	// Active tells whether it is. It must not block, and is called from many
	// goroutines; nil is never.
	Active func() bool
}

// Class is PodAlone.
func (NodeShutdown) Class() Class { return PodAlone }

// Admit rejects while the node shuts down.
func (s NodeShutdown) Admit(context.Context, Request) (Verdict, error) {
	if s.Active != nil && s.Active() {
		return Rejected(ReasonNodeShutdown, MessageNodeShutdown), nil
	}
	return Admitted(), nil
}
