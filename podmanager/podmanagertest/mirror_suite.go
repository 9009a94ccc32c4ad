package podmanagertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/podmanager"
)

// MirrorAPI is an API with a client for mirrors, and a way to look at what is
// there.
type MirrorAPI interface {
	podmanager.MirrorClient
	// Mirror returns the pod of a full name, name_namespace, or nil.
	Mirror(fullName string) *v1.Pod
}

// TestMirrorClient checks each rule of a [podmanager.MirrorClient] in a subtest,
// each with an empty API.
func TestMirrorClient(t *testing.T, open func(t *testing.T) MirrorAPI) {
	t.Helper()
	mirrorRules.Test(t, func(t *testing.T) conformance.Open[MirrorAPI] {
		api := open(t)
		return func(context.Context) (MirrorAPI, func() error, error) { return api, nil, nil }
	}, conformance.Options{})
}

// CheckMirrorClient is [TestMirrorClient] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckMirrorClient(ctx context.Context, open func() MirrorAPI) error {
	return mirrorRules.Check(ctx, func(context.Context) (MirrorAPI, func() error, error) {
		return open(), nil, nil
	}, conformance.Options{})
}

var mirrorRules = conformance.Rules[MirrorAPI]{
	{Name: "create", Text: "a mirror is created as it is given, under a UID of its own, and what is given is not written to", Check: checkMirrorCreate},
	{Name: "create-again", Text: "a mirror that is there already, with the same hash, is no error, and stays", Check: checkMirrorCreateAgain},
	{Name: "create-another", Text: "another mirror of the name is an error, and what is there stays", Check: checkMirrorCreateAnother},
	{Name: "delete", Text: "a mirror is deleted at once, that of the UID or, without one, any", Check: checkMirrorDelete},
	{Name: "delete-other", Text: "a mirror of another UID stays, and that is no error: deleted is false", Check: checkMirrorDeleteOther},
	{Name: "delete-none", Text: "that there is no mirror is no error: deleted is false", Check: checkMirrorDeleteNone},
	{Name: "context", Text: "a call returns soon after its context ends", Check: checkMirrorContext},
}

const (
	mirrorName     = "web-node"
	mirrorFullName = mirrorName + "_" + metav1.NamespaceDefault
)

// suiteMirror is the mirror of a static pod with this hash.
func suiteMirror(hash string) *v1.Pod {
	pod := suitePod(mirrorName, "")
	pod.Annotations = map[string]string{podmanager.AnnotationSource: podmanager.SourceFile, podmanager.AnnotationHash: hash}
	mirror, err := podmanager.NewMirror(pod, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "uid-node"}})
	if err != nil {
		panic(err) // the node is known and has a UID
	}
	return mirror
}

// made creates a mirror and returns what is there then.
func made(ctx context.Context, api MirrorAPI, hash string) (*v1.Pod, error) {
	if err := api.CreateMirror(ctx, suiteMirror(hash)); err != nil {
		return nil, fmt.Errorf("CreateMirror: %w", err)
	}
	there := api.Mirror(mirrorFullName)
	if there == nil {
		return nil, errors.New("CreateMirror gave no error, but there is no mirror")
	}
	return there, nil
}

// deletes tells whether a deletion says what it should, and does it.
func deletes(ctx context.Context, api MirrorAPI, uid types.UID, want bool) error {
	before := api.Mirror(mirrorFullName)
	deleted, err := api.DeleteMirror(ctx, metav1.NamespaceDefault, mirrorName, uid)
	if err != nil {
		return fmt.Errorf("DeleteMirror: %w", err)
	}
	if deleted != want {
		return fmt.Errorf("DeleteMirror says deleted is %t", deleted)
	}
	switch after := api.Mirror(mirrorFullName); {
	case want && after != nil:
		return errors.New("the mirror is still there")
	case !want && before != nil && after == nil:
		return errors.New("the mirror is gone")
	}
	return nil
}

func checkMirrorCreate(ctx context.Context, api MirrorAPI) error {
	given := suiteMirror("1")
	if err := api.CreateMirror(ctx, given); err != nil {
		return fmt.Errorf("CreateMirror: %w", err)
	}
	there := api.Mirror(mirrorFullName)
	switch want := suiteMirror("1"); {
	case there == nil:
		return errors.New("CreateMirror gave no error, but there is no mirror")
	case there.UID == "":
		return errors.New("the mirror has no UID")
	case !reflect.DeepEqual(want, given):
		return errors.New("the pod that was given was written to")
	case !reflect.DeepEqual(want.Annotations, there.Annotations):
		return fmt.Errorf("the mirror has the annotations %v, not %v", there.Annotations, want.Annotations)
	case !reflect.DeepEqual(want.OwnerReferences, there.OwnerReferences):
		return fmt.Errorf("the mirror has the owners %v, not %v", there.OwnerReferences, want.OwnerReferences)
	}
	return nil
}

func checkMirrorCreateAgain(ctx context.Context, api MirrorAPI) error {
	first, err := made(ctx, api, "1")
	if err != nil {
		return err
	}
	uid := first.UID
	second, err := made(ctx, api, "1")
	if err != nil {
		return err
	}
	if second.UID != uid {
		return fmt.Errorf("the mirror %s was replaced by %s", uid, second.UID)
	}
	return nil
}

func checkMirrorCreateAnother(ctx context.Context, api MirrorAPI) error {
	first, err := made(ctx, api, "1")
	if err != nil {
		return err
	}
	uid := first.UID
	if err := api.CreateMirror(ctx, suiteMirror("2")); err == nil {
		return errors.New("CreateMirror gave no error")
	}
	if there := api.Mirror(mirrorFullName); there == nil || there.UID != uid || there.Annotations[podmanager.AnnotationMirror] != "1" {
		return errors.New("the mirror that was there did not stay as it was")
	}
	return nil
}

func checkMirrorDelete(ctx context.Context, api MirrorAPI) error {
	first, err := made(ctx, api, "1")
	if err != nil {
		return err
	}
	if err := deletes(ctx, api, first.UID, true); err != nil {
		return err
	}
	if _, err := made(ctx, api, "2"); err != nil {
		return err
	}
	return deletes(ctx, api, "", true)
}

func checkMirrorDeleteOther(ctx context.Context, api MirrorAPI) error {
	if _, err := made(ctx, api, "1"); err != nil {
		return err
	}
	return deletes(ctx, api, "uid-of-another", false)
}

func checkMirrorDeleteNone(ctx context.Context, api MirrorAPI) error {
	return errors.Join(deletes(ctx, api, "", false), deletes(ctx, api, "uid-of-another", false))
}

func checkMirrorContext(ctx context.Context, api MirrorAPI) error {
	ended, end := context.WithCancel(ctx)
	end()
	// Either answer will do, if it comes.
	_ = api.CreateMirror(ended, suiteMirror("1"))
	_, _ = api.DeleteMirror(ended, metav1.NamespaceDefault, mirrorName, "")
	return nil
}
