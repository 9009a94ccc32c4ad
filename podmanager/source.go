package podmanager

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
)

// PodSource says what should run here. It delivers snapshots (OpSet, the whole
// list each time) or deltas (OpAdd, OpUpdate, OpRemove); OpRestore for pods out
// of a checkpoint. Each Run begins with an OpSet of all pods, be it empty: only
// then the source counts as heard, and the absence of a pod means something. Each
// pod has a name, a namespace and a UID, and keeps them as long as it is the same
// pod, also over a new Run.
//
// Run delivers until its context ends, and returns nil then. A source that
// can't be read keeps trying, with back-off, and says so through Report.Err;
// silence and errors never mean that there are no pods. Run returns an error
// only when it can never deliver again. One Run at a time; deliver is called
// from one goroutine at a time, does not block for long, and takes ownership
// of the update and its pods. A source that asks by time is [Regular] too.
type PodSource interface {
	Run(ctx context.Context, deliver func(Report)) error
}

// SourceFunc makes a PodSource of a function.
type SourceFunc func(ctx context.Context, deliver func(Report)) error

// Run calls f; a nil one is an error.
func (f SourceFunc) Run(ctx context.Context, deliver func(Report)) error {
	if f == nil {
		return errors.New("the SourceFunc is nil")
	}
	return f(ctx, deliver)
}

// Report is one word of a source: an update, or an error, or both when a part
// of the source is bad.
type Report struct {
	// Op and Pods are the update; an empty Op means that there is none, and
	// what the source said before still holds.
	Op   Op
	Pods []*v1.Pod
	// Err is what is wrong with the source now, nil when it is well. Bad
	// manifests are *ManifestErrors, joined with errors.Join.
	Err error
	// Warnings are what a person should know of manifests that were accepted.
	Warnings []string
}
