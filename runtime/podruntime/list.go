package podruntime

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// ListPods lists the pods of this owner: those with a sandbox or container in
// the backend, and those of which only folders are left under Root, whose
// namespace and name may be empty. It makes two list calls, whatever the number
// of pods. A pod's Revision is made of the identity and state of its sandboxes
// and containers. The pods come in order of UID.
func (r *Runtime) ListPods(ctx context.Context) ([]runtime.ListedPod, error) {
	pods, err := r.listBackend(ctx)
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	folders, err := r.layout.folders()
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for uid, ref := range folders {
		if pods[uid] == nil {
			pods[uid] = &runtime.ListedPod{PodRef: ref}
		}
	}
	list := make([]runtime.ListedPod, 0, len(pods))
	for _, uid := range slices.Sorted(maps.Keys(pods)) {
		list = append(list, *pods[uid])
	}
	return list, nil
}

// revisionSeed makes revisions comparable within one process, which is as long
// as anyone remembers them.
var revisionSeed = maphash.MakeSeed()

func (r *Runtime) listBackend(ctx context.Context) (map[types.UID]*runtime.ListedPod, error) {
	containers, err := r.cfg.Backend.ListContainers(ctx, runtime.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	sandboxes, err := r.cfg.Backend.ListSandboxes(ctx, runtime.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	pods := make(map[types.UID]*runtime.ListedPod, len(sandboxes))
	add := func(ref runtime.PodRef, running bool, item uint64) {
		pod := pods[ref.UID]
		if pod == nil {
			pod = &runtime.ListedPod{PodRef: ref}
			pods[ref.UID] = pod
		}
		pod.Running = pod.Running || running
		pod.Revision += item // in whatever order the backend lists
	}
	for i := range sandboxes {
		if s := &sandboxes[i]; r.owns(s.Labels) {
			item := maphash.Comparable(revisionSeed, sandboxItem{s.ID, s.Ready, len(s.IPs)})
			add(refByLabels(s.PodRef, s.Labels), s.Ready, item)
		}
	}
	for i := range containers {
		if c := &containers[i]; r.owns(c.Labels) {
			running := c.State == runtime.StateRunning || c.State == runtime.StateUnknown
			add(refOf(c), running, maphash.Comparable(revisionSeed, containerItem{c.ID, c.State}))
		}
	}
	return pods, nil
}

// sandboxItem and containerItem are what of a listed thing can change.
type (
	sandboxItem struct {
		id    string
		ready bool
		ips   int
	}
	containerItem struct {
		id    string
		state runtime.State
	}
)
