package podmanagertest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// The fake API gives UIDs, refuses another mirror of a name, and deletes by UID
// where one is given.
func TestMirrorClient(t *testing.T) {
	ctx := t.Context()
	feed := podmanagertest.NewSource()
	api := &podmanagertest.MirrorClient{Feed: feed}
	mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web", Annotations: map[string]string{podmanager.AnnotationMirror: "1"},
	}}
	another := mirror.DeepCopy()
	another.Annotations[podmanager.AnnotationMirror] = "2"

	require.NoError(t, api.CreateMirror(ctx, mirror))
	require.Empty(t, mirror.UID, "the pod that was given is read-only")
	require.True(t, apierrors.IsAlreadyExists(api.CreateMirror(ctx, another)))
	require.NoError(t, api.CreateMirror(ctx, mirror))
	stored := api.Mirror("web_default")
	require.NotEmpty(t, stored.UID)
	require.Len(t, feed.Pods(), 1)

	deleted, err := api.DeleteMirror(ctx, "default", "web", "another")
	require.NoError(t, err)
	require.False(t, deleted)
	deleted, err = api.DeleteMirror(ctx, "default", "web", stored.UID)
	require.NoError(t, err)
	require.True(t, deleted)
	deleted, err = api.DeleteMirror(ctx, "default", "web", "")
	require.NoError(t, err)
	require.False(t, deleted)
	require.Zero(t, api.Len())
	require.Empty(t, feed.Pods())

	require.NoError(t, api.CreateMirror(ctx, mirror))
	require.NotEqual(t, stored.UID, api.Mirror("web_default").UID)

	down := errors.New("down")
	api.Fail(down)
	_, err = api.DeleteMirror(ctx, "default", "web", "")
	require.ErrorIs(t, err, down)
	require.ErrorIs(t, api.CreateMirror(ctx, mirror), down)
	api.Fail(nil)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, api.CreateMirror(ended, mirror), context.Canceled)
}
