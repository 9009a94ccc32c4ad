package podruntime

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// errRunning refuses to remove what a container may still use.
var errRunning = errors.New("a container of it runs")

// RemoveVolumes removes the pod's volumes and what is in them; a hostPath is the
// host's and stays. It fails while a container of the pod runs.
func (r *Runtime) RemoveVolumes(ctx context.Context, uid types.UID) error {
	if _, err := r.readStopped(ctx, uid); err != nil {
		return fmt.Errorf("remove volumes of pod %s: %w", uid, err)
	}
	if err := r.layout.removeVolumes(uid); err != nil {
		return fmt.Errorf("remove volumes of pod %s: %w", uid, err)
	}
	r.unregister(uid)
	return nil
}

// unregister lets the objects go that a pod referred to.
func (r *Runtime) unregister(uid types.UID) {
	if registrar, ok := r.cfg.Objects.(ObjectRegistrar); ok {
		registrar.Unregister(uid)
	}
}

// RemovePod removes the pod's containers and sandboxes, its logs and its
// folder, and forgets it. It fails while a container of the pod runs. A pod
// that is not known is no error.
func (r *Runtime) RemovePod(ctx context.Context, uid types.UID) error {
	if err := r.removePod(ctx, uid); err != nil {
		return fmt.Errorf("remove pod %s: %w", uid, err)
	}
	r.unregister(uid)
	r.forget(uid)
	return nil
}

func (r *Runtime) removePod(ctx context.Context, uid types.UID) error {
	seen, err := r.readStopped(ctx, uid)
	if err != nil {
		return err
	}
	for i := range seen.containers {
		id := seen.containers[i].ID
		if err := r.cfg.Backend.RemoveContainer(ctx, id); err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return fmt.Errorf("container %s: %w", id, err)
		}
	}
	if err := r.stopSandboxes(ctx, seen.sandboxIDs()); err != nil {
		return err
	}
	for _, id := range seen.sandboxIDs() {
		if err := r.cfg.Backend.RemoveSandbox(ctx, id); err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return fmt.Errorf("sandbox %s: %w", id, err)
		}
	}
	return r.removeFolders(seen.ref)
}

// readStopped reads a pod and refuses one that runs, or whose UID can't be the
// name of its folder.
func (r *Runtime) readStopped(ctx context.Context, uid types.UID) (*observation, error) {
	if err := element("pod UID", string(uid)); err != nil {
		return nil, err
	}
	seen, err := r.read(ctx, uid)
	if err == nil && seen.running() {
		err = errRunning
	}
	return seen, err
}

// removeFolders removes what the pod has on disk. Where its name is not known,
// the log folder is looked for by UID.
func (r *Runtime) removeFolders(ref runtime.PodRef) error {
	if r.layout.check(ref) == nil {
		if err := os.RemoveAll(r.layout.podLogDir(ref)); err != nil {
			return err
		}
	} else {
		folders, err := r.layout.folders()
		if err != nil {
			return err
		}
		if found := folders[ref.UID]; r.layout.check(found) == nil {
			if err := os.RemoveAll(r.layout.podLogDir(found)); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.layout.removeVolumes(ref.UID), os.RemoveAll(r.layout.podDir(ref.UID)))
}
