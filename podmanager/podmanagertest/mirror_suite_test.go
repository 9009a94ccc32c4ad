package podmanagertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// The fake API keeps the rules.
func TestFakeMirrorClientKeepsTheRules(t *testing.T) {
	podmanagertest.TestMirrorClient(t, func(*testing.T) podmanagertest.MirrorAPI { return &podmanagertest.MirrorClient{} })
	require.NoError(t, podmanagertest.CheckMirrorClient(t.Context(), func() podmanagertest.MirrorAPI { return &podmanagertest.MirrorClient{} }))
}

// brokenMirrors calls the fake in ways of its own.
type brokenMirrors struct {
	*podmanagertest.MirrorClient
	create  func(ctx context.Context, api *podmanagertest.MirrorClient, mirror *v1.Pod) error
	destroy func(ctx context.Context, api *podmanagertest.MirrorClient, namespace, name string, uid types.UID) (bool, error)
}

func (b brokenMirrors) CreateMirror(ctx context.Context, mirror *v1.Pod) error {
	if b.create != nil {
		return b.create(ctx, b.MirrorClient, mirror)
	}
	return b.MirrorClient.CreateMirror(ctx, mirror)
}

func (b brokenMirrors) DeleteMirror(ctx context.Context, namespace, name string, uid types.UID) (bool, error) {
	if b.destroy != nil {
		return b.destroy(ctx, b.MirrorClient, namespace, name, uid)
	}
	return b.MirrorClient.DeleteMirror(ctx, namespace, name, uid)
}

// Each deliberately broken client fails, and by the rule that it breaks.
func TestMirrorSuiteFindsBrokenClients(t *testing.T) {
	for name, c := range map[string]struct {
		rule   string
		broken brokenMirrors
	}{
		"writes to what it is given": {"create", brokenMirrors{create: func(ctx context.Context, api *podmanagertest.MirrorClient, mirror *v1.Pod) error {
			mirror.UID = "mine"
			return api.CreateMirror(ctx, mirror)
		}}},
		"drops the owner": {"create", brokenMirrors{create: func(ctx context.Context, api *podmanagertest.MirrorClient, mirror *v1.Pod) error {
			plain := mirror.DeepCopy()
			plain.OwnerReferences = nil
			return api.CreateMirror(ctx, plain)
		}}},
		"calls its own mirror a conflict": {"create-again", brokenMirrors{create: func(ctx context.Context, api *podmanagertest.MirrorClient, mirror *v1.Pod) error {
			if api.Len() > 0 {
				return errors.New("already exists")
			}
			return api.CreateMirror(ctx, mirror)
		}}},
		"says that all is well": {"create-another", brokenMirrors{create: func(ctx context.Context, api *podmanagertest.MirrorClient, mirror *v1.Pod) error {
			if api.Len() > 0 {
				return nil
			}
			return api.CreateMirror(ctx, mirror)
		}}},
		"needs a UID": {"delete", brokenMirrors{destroy: func(ctx context.Context, api *podmanagertest.MirrorClient, namespace, name string, uid types.UID) (bool, error) {
			if uid == "" {
				return false, nil
			}
			return api.DeleteMirror(ctx, namespace, name, uid)
		}}},
		"deletes by the name": {"delete-other", brokenMirrors{destroy: func(ctx context.Context, api *podmanagertest.MirrorClient, namespace, name string, _ types.UID) (bool, error) {
			return api.DeleteMirror(ctx, namespace, name, "")
		}}},
		"fails where there is none": {"delete-none", brokenMirrors{destroy: func(ctx context.Context, api *podmanagertest.MirrorClient, namespace, name string, uid types.UID) (bool, error) {
			if deleted, err := api.DeleteMirror(ctx, namespace, name, uid); deleted || err != nil {
				return deleted, err
			}
			return false, errors.New("not found")
		}}},
		"does not heed its context": {"context", brokenMirrors{create: func(ctx context.Context, api *podmanagertest.MirrorClient, mirror *v1.Pod) error {
			if ctx.Err() != nil {
				<-time.After(time.Hour)
			}
			return api.CreateMirror(ctx, mirror)
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := podmanagertest.CheckMirrorClient(t.Context(), func() podmanagertest.MirrorAPI {
					api := c.broken
					api.MirrorClient = &podmanagertest.MirrorClient{}
					return api
				})
				require.Contains(t, conformance.Broken(err), c.rule, "%v", err)
				<-time.After(2 * time.Hour) // what hung has ended by then
			})
		})
	}
}
