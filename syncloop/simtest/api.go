package simtest

import (
	"context"
	"errors"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// api is an API server: the pods of source api, and mirrors of the others.
type api struct {
	*source
	version int
}

// put stores a new version of an object.
func (a *api) store(pod *v1.Pod) *v1.Pod {
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	a.put(pod)
	return pod
}

// create stores a pod that was bound to this node.
func (a *api) create(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
	return a.store(pod)
}

// markDeleted asks for the end of a pod.
func (a *api) markDeleted(pod *v1.Pod, seconds int64) {
	pod = pod.DeepCopy()
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		seconds = min(seconds, *g)
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &seconds
	a.store(pod)
}

// setStatus takes what the agent says of a pod, or of its mirror.
func (a *api) setStatus(u syncloop.StatusUpdate) {
	object := u.Pod
	if u.Mirror != nil {
		object = u.Mirror
	}
	old := a.get(object.UID)
	if old == nil {
		return
	}
	status, _ := podstatus.Merge(&old.Status, u.Status, u.MayRun, time.Now())
	if u.Mirror == nil && old.DeletionTimestamp != nil && u.Finished && podstatus.Terminal(status.Phase) {
		a.drop(old)
		return
	}
	if podstatus.Equal(&old.Status, &status) {
		return
	}
	changed := old.DeepCopy()
	changed.Status = status
	a.store(changed)
}

// mirrors is the API as one agent sees it.
type mirrors struct {
	*world
	agent *agent
}

var errExists = errors.New("already exists")

// CreateMirror implements [podmanager.MirrorClient].
func (m mirrors) CreateMirror(ctx context.Context, mirror *v1.Pod) error {
	return m.agent.call(ctx, "CreateMirror", types.UID(mirror.Name), func() error {
		for _, p := range m.api.pods {
			switch {
			case p.Name != mirror.Name:
			case p.Annotations[podmanager.AnnotationMirror] == mirror.Annotations[podmanager.AnnotationMirror]:
				return nil
			default:
				return errExists
			}
		}
		created := mirror.DeepCopy()
		m.made++
		created.UID = types.UID("mirror-" + strconv.Itoa(m.made))
		m.api.create(created)
		return nil
	})
}

// DeleteMirror implements [podmanager.MirrorClient].
func (m mirrors) DeleteMirror(ctx context.Context, _, name string, uid types.UID) (deleted bool, err error) {
	err = m.agent.call(ctx, "DeleteMirror", types.UID(name), func() error {
		for _, p := range m.api.pods {
			if p.Name == name && podmanager.IsMirror(p) && (uid == "" || p.UID == uid) {
				m.api.drop(p)
				deleted = true
				break
			}
		}
		return nil
	})
	return deleted, err
}
