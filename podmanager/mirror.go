package podmanager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MirrorClient makes and deletes mirror pods in the API. A host that has none
// gives none. It is safe for concurrent use, and a call returns soon after its
// context ends. Package podmanagertest has the rules of a client as a test.
type MirrorClient interface {
	// CreateMirror creates the pod as it is given; it is read-only. That there
	// is a mirror of this name already, with the same AnnotationMirror, is no
	// error: it was made a moment ago, and its source has not shown it yet.
	// Another pod of this name is one, and stays.
	CreateMirror(ctx context.Context, mirror *v1.Pod) error
	// DeleteMirror deletes the mirror at once, without a grace period. With a UID
	// it deletes only the pod of that UID; an empty UID deletes any. That there
	// is none, or only one of another UID, is no error: deleted is false.
	DeleteMirror(ctx context.Context, namespace, name string, uid types.UID) (deleted bool, err error)
}

// MirrorPlan is what must be done about the mirror of a static pod. When both
// are set, Create follows only if something was really deleted.
type MirrorPlan struct {
	Delete bool
	Create bool
}

// PlanMirror decides what must be done: a mirror that is being deleted, or is
// the picture of another version, is replaced; a missing one is made. The mirror
// is nil when none is known; a pod that is not static needs none.
func PlanMirror(pod, mirror *v1.Pod) MirrorPlan {
	switch {
	case !IsStatic(pod):
		return MirrorPlan{}
	case mirror == nil:
		return MirrorPlan{Create: true}
	case mirror.DeletionTimestamp != nil || !IsMirrorOf(mirror, pod):
		return MirrorPlan{Delete: true, Create: true}
	}
	return MirrorPlan{}
}

// IsMirrorOf tells whether a mirror shows this version of a static pod: equal
// name, namespace and content hash. The hash of a pod without AnnotationHash is
// that of its labels, its annotations but the node's own, and its spec.
func IsMirrorOf(mirror, pod *v1.Pod) bool {
	hash, ok := mirror.Annotations[AnnotationMirror]
	return ok && FullName(mirror) == FullName(pod) && hash == mirrorHash(pod)
}

// mirrorHash is what the mirror of this version of a static pod has as its hash.
func mirrorHash(pod *v1.Pod) string {
	if hash := pod.Annotations[AnnotationHash]; hash != "" {
		return hash
	}
	content := v1.Pod{Spec: pod.Spec}
	content.Labels = pod.Labels
	content.Annotations = maps.Clone(pod.Annotations)
	maps.DeleteFunc(content.Annotations, func(key, _ string) bool { return isLocal(key) })
	text, err := json.Marshal(&content)
	if err != nil {
		return "" // no pod that JSON can hold fails
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// NewMirror returns the mirror of a static pod: a copy with the hash in the
// annotation kubernetes.io/config.mirror, see [IsMirrorOf], owned by the node.
// The node must have a UID. The API gives the mirror a UID of its own, so it has
// none here.
func NewMirror(pod *v1.Pod, node *v1.Node) (*v1.Pod, error) {
	if node == nil {
		return nil, fmt.Errorf("mirror of pod %s: the node is not known", FullName(pod))
	}
	if node.UID == "" {
		return nil, fmt.Errorf("mirror of pod %s: node %s has no UID", FullName(pod), node.Name)
	}
	mirror := annotated(pod, map[string]string{AnnotationMirror: mirrorHash(pod)})
	mirror.UID = ""
	controller := true
	mirror.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1",
		Kind:       "Node",
		Name:       node.Name,
		UID:        node.UID,
		Controller: &controller,
	}}
	return mirror, nil
}

// ReconcileMirror carries out PlanMirror. The node is nil when it can't be read
// now; then, and while it is being deleted, no mirror is made. What is left
// undone is done at the next call. Errors are for a log: a pod runs without its
// mirror.
func ReconcileMirror(ctx context.Context, client MirrorClient, pod, mirror *v1.Pod, node *v1.Node) error {
	plan := PlanMirror(pod, mirror)
	if plan.Delete {
		deleted, err := client.DeleteMirror(ctx, mirror.Namespace, mirror.Name, mirror.UID)
		if err != nil {
			return fmt.Errorf("delete mirror pod %s(%s): %w", FullName(mirror), mirror.UID, err)
		}
		plan.Create = deleted
	}
	if !plan.Create {
		return nil
	}
	if node != nil && node.DeletionTimestamp != nil {
		return errors.New("mirror of pod " + FullName(pod) + ": node " + node.Name + " is being deleted")
	}
	wanted, err := NewMirror(pod, node)
	if err != nil {
		return err
	}
	if err := client.CreateMirror(ctx, wanted); err != nil {
		return fmt.Errorf("create mirror pod %s: %w", FullName(pod), err)
	}
	return nil
}
