package podmanager_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

func static(hash string) *v1.Pod {
	return pod("web", annotation(podmanager.AnnotationSource, "file"), annotation(podmanager.AnnotationHash, hash))
}

func mirrorOf(hash string, changes ...func(*v1.Pod)) *v1.Pod {
	return pod("web m1", append(changes, annotation(podmanager.AnnotationMirror, hash))...)
}

func TestPlanMirror(t *testing.T) {
	replace, create, nothing := podmanager.MirrorPlan{Delete: true, Create: true}, podmanager.MirrorPlan{Create: true}, podmanager.MirrorPlan{}
	for name, c := range map[string]struct {
		pod, mirror *v1.Pod
		want        podmanager.MirrorPlan
	}{
		"a missing mirror is made":                 {static("h"), nil, create},
		"a mirror of this version stays":           {static("h"), mirrorOf("h"), nothing},
		"a mirror of another version":              {static("h2"), mirrorOf("h"), replace},
		"a mirror that is being deleted":           {static("h"), mirrorOf("h", deleting), replace},
		"a pod of that name that is no mirror":     {static("h"), pod("web m1"), replace},
		"a mirror of another name":                 {static("h"), pod("other m1", annotation(podmanager.AnnotationMirror, "h")), replace},
		"a pod of the API needs no mirror":         {pod("web", annotation(podmanager.AnnotationSource, "api")), nil, nothing},
		"a pod of no known source needs no mirror": {pod("web"), nil, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, podmanager.PlanMirror(c.pod, c.mirror))
		})
	}
}

func node(changes ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node-uid"}}
	for _, change := range changes {
		change(n)
	}
	return n
}

// A mirror is a copy of its pod with the hash, owned by the node.
func TestNewMirror(t *testing.T) {
	original := static("h")
	before := original.DeepCopy()
	mirror, err := podmanager.NewMirror(original, node())
	require.NoError(t, err)
	require.Equal(t, before, original)
	require.True(t, podmanager.IsMirrorOf(mirror, original))
	require.Equal(t, map[string]string{
		podmanager.AnnotationSource: "file",
		podmanager.AnnotationHash:   "h",
		podmanager.AnnotationMirror: "h",
	}, mirror.Annotations)
	yes := true
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node", UID: "node-uid", Controller: &yes}}, mirror.OwnerReferences)
	require.Empty(t, mirror.UID)
	require.Equal(t, original.Spec, mirror.Spec)
}

func TestReconcileMirror(t *testing.T) {
	ctx := t.Context()
	api := &podmanagertest.MirrorClient{}
	current := func() *v1.Pod { return api.Mirror("web_default") }

	require.ErrorContains(t, podmanager.ReconcileMirror(ctx, api, static("1"), nil, nil), "the node is not known")
	require.ErrorContains(t, podmanager.ReconcileMirror(ctx, api, static("1"), nil, node(func(n *v1.Node) { n.UID = "" })), "node node has no UID")
	require.ErrorContains(t, podmanager.ReconcileMirror(ctx, api, static("1"), nil, node(func(n *v1.Node) { n.DeletionTimestamp = &metav1.Time{Time: now} })), "node node is being deleted")
	require.Zero(t, api.Len())

	require.NoError(t, podmanager.ReconcileMirror(ctx, api, static("1"), nil, node()))
	first := current()
	require.NoError(t, podmanager.ReconcileMirror(ctx, api, static("1"), first, node()))
	require.Same(t, first, current(), "a good mirror is left alone")

	require.NoError(t, podmanager.ReconcileMirror(ctx, api, static("2"), first, node()))
	second := current()
	require.NotEqual(t, first.UID, second.UID)
	require.Equal(t, "2", second.Annotations[podmanager.AnnotationMirror])

	require.ErrorContains(t, podmanager.ReconcileMirror(ctx, api, static("3"), nil, node()), "create mirror pod web_default: ")
	down := errors.New("down")
	api.Fail(down)
	err := podmanager.ReconcileMirror(ctx, api, static("3"), second, node())
	require.ErrorIs(t, err, down)
	require.ErrorContains(t, err, "delete mirror pod web_default(mirror-2): ")
}

// A static pod of a source that gives no hash has a mirror too, which is replaced
// with each new version, and only then.
func TestMirrorOfAPodWithoutAHash(t *testing.T) {
	version := func(changes ...func(*v1.Pod)) *v1.Pod {
		return pod("web", append(changes, annotation(podmanager.AnnotationSource, "channel"))...)
	}
	for name, c := range map[string]struct {
		pod      *v1.Pod
		replaced bool
	}{
		"nothing new":          {version(), false},
		"seen at another time": {version(annotation(podmanager.AnnotationSeen, "later")), false},
		"another status":       {version(func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }), false},
		"another version":      {version(func(p *v1.Pod) { p.ResourceVersion = "2" }), false},
		"another image":        {version(func(p *v1.Pod) { p.Spec.Containers = []v1.Container{{Name: "a", Image: "b:2"}} }), true},
		"another label":        {version(func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }), true},
		"another annotation":   {version(annotation("example.com/a", "b")), true},
		"a hash from now on":   {version(annotation(podmanager.AnnotationHash, "1")), true},
	} {
		t.Run(name, func(t *testing.T) {
			api := &podmanagertest.MirrorClient{}
			require.NoError(t, podmanager.ReconcileMirror(t.Context(), api, version(), nil, node()))
			before := api.Mirror("web_default")
			require.Len(t, before.Annotations[podmanager.AnnotationMirror], 32)
			require.NoError(t, podmanager.ReconcileMirror(t.Context(), api, c.pod, before, node()))
			after := api.Mirror("web_default")
			require.Equal(t, c.replaced, before != after)
			require.True(t, podmanager.IsMirrorOf(after, c.pod))
		})
	}
}

// A mirror that was made and is not yet seen is no fault, and is not made again.
func TestMirrorThatIsNotSeenYet(t *testing.T) {
	api := &podmanagertest.MirrorClient{}
	require.NoError(t, podmanager.ReconcileMirror(t.Context(), api, static("1"), nil, node()))
	made := api.Mirror("web_default")
	require.NoError(t, podmanager.ReconcileMirror(t.Context(), api, static("1"), nil, node()))
	require.Same(t, made, api.Mirror("web_default"))
}

// kubernetes/kubernetes#79147: what is known of a mirror may be out of date, so a
// new one must not be deleted by its name. And what was not deleted is not made
// anew.
func TestKubernetes79147MirrorIsDeletedByUID(t *testing.T) {
	ctx := t.Context()
	api := &podmanagertest.MirrorClient{}
	require.NoError(t, podmanager.ReconcileMirror(ctx, api, static("1"), nil, node()))
	first := api.Mirror("web_default")
	require.NoError(t, podmanager.ReconcileMirror(ctx, api, static("2"), first, node()))
	second := api.Mirror("web_default")
	require.NoError(t, podmanager.ReconcileMirror(ctx, api, static("3"), first, node()))
	require.Same(t, second, api.Mirror("web_default"))
}
