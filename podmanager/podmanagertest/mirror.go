package podmanagertest

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// MirrorClient is an API that holds mirror pods, in memory. It gives each a new
// UID, refuses another one of the same name, and deletes at once.
//
// It does not validate, and knows no pods but mirrors.
type MirrorClient struct {
	// Feed, when set, is told of what is created and deleted, as a watch of the
	// API would be.
	Feed *Source

	mu      sync.Mutex
	mirrors map[string]*v1.Pod
	made    int
	err     error
}

// Fail makes all calls fail with this error, until a call with nil.
func (c *MirrorClient) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Mirror returns the mirror of a full name, or nil. It is read-only.
func (c *MirrorClient) Mirror(fullName string) *v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mirrors[fullName]
}

// Len returns how many mirrors there are.
func (c *MirrorClient) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mirrors)
}

// CreateMirror creates the mirror under a new UID, unless it is there already.
func (c *MirrorClient) CreateMirror(ctx context.Context, mirror *v1.Pod) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.fault(ctx); err != nil {
		return err
	}
	name := podmanager.FullName(mirror)
	if there := c.mirrors[name]; there != nil {
		if podmanager.IsMirror(there) && there.Annotations[podmanager.AnnotationMirror] == mirror.Annotations[podmanager.AnnotationMirror] {
			return nil
		}
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, mirror.Name)
	}
	if c.mirrors == nil {
		c.mirrors = map[string]*v1.Pod{}
	}
	c.made++
	stored := mirror.DeepCopy()
	stored.UID = types.UID(fmt.Sprintf("mirror-%d", c.made))
	stored.ResourceVersion = fmt.Sprint(c.made)
	c.mirrors[name] = stored
	if c.Feed != nil {
		c.Feed.Add(stored)
	}
	return nil
}

// DeleteMirror deletes the mirror, if it has the UID.
func (c *MirrorClient) DeleteMirror(ctx context.Context, namespace, name string, uid types.UID) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.fault(ctx); err != nil {
		return false, err
	}
	full := name + "_" + namespace
	stored := c.mirrors[full]
	if stored == nil || uid != "" && stored.UID != uid {
		return false, nil
	}
	delete(c.mirrors, full)
	if c.Feed != nil {
		c.Feed.Remove(stored)
	}
	return true, nil
}

func (c *MirrorClient) fault(ctx context.Context) error {
	if c.err != nil {
		return c.err
	}
	return ctx.Err()
}
