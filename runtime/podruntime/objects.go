package podruntime

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Objects gives the ConfigMaps and Secrets that pods refer to.
// podmanager.Objects is one; a host with a cache of its own needs these two
// methods and no more.
//
// An object that does not exist is an error for which
// [apierrors.IsNotFound] is true; any other error means that nobody knows. Both
// are shown to users as they are: an error holds no value of an object. What is
// given out is read-only for both sides. The methods may be called concurrently,
// and return soon after their context ends.
//
// What Objects may do besides is found by type assertion: [ObjectRegistrar],
// [ObjectWatcher].
type Objects interface {
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// ObjectRegistrar is an Objects that holds what pods refer to, and nothing else.
// Neither method blocks.
type ObjectRegistrar interface {
	// Register comes at the beginning of every pass over a pod, before any of its
	// objects is read. A pod that is registered as it is costs next to nothing.
	Register(pod *v1.Pod)
	// Unregister comes when the pod's volumes are gone. An unknown pod is no
	// error.
	Unregister(uid types.UID)
}

// ObjectWatcher is an Objects that tells when something changed, so that volumes
// follow within moments. Without it they follow at the next pass over the pod.
type ObjectWatcher interface {
	// Changed has a value when there is something to take.
	Changed() <-chan struct{}
	// Take returns the registered pods of which an object changed, came or went
	// since it was called last.
	Take() []types.UID
}

// objectReader reads the objects of one pod, in one pass.
type objectReader struct {
	ctx       context.Context
	objects   Objects // nil if there is no source of them
	namespace string
}

// configMap reads a ConfigMap; nil without an error is one that is optional, and
// not there.
func (r objectReader) configMap(name string, optional *bool) (*v1.ConfigMap, error) {
	if r.objects == nil {
		return nil, r.noSource("ConfigMap", name, optional)
	}
	object, err := r.objects.ConfigMap(r.ctx, r.namespace, name)
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	return object, nil
}

// secret reads a Secret; nil without an error is one that is optional, and not
// there.
func (r objectReader) secret(name string, optional *bool) (*v1.Secret, error) {
	if r.objects == nil {
		return nil, r.noSource("Secret", name, optional)
	}
	object, err := r.objects.Secret(r.ctx, r.namespace, name)
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	return object, nil
}

// noSource is the error for a reference that nobody can resolve here, unless it
// is optional.
func (r objectReader) noSource(kind, name string, optional *bool) error {
	if isOptional(optional) {
		return nil
	}
	return fmt.Errorf("%s %s/%s: this runtime has no source of %ss", kind, r.namespace, name, kind)
}

func unlessOptional(err error, optional *bool) error {
	if isOptional(optional) && apierrors.IsNotFound(err) {
		return nil
	}
	return &objectError{err}
}

func isOptional(optional *bool) bool { return optional != nil && *optional }

// objectError is what users read of an object as it is, without the place that
// refers to it: the kubelet's words.
type objectError struct{ err error }

func (e *objectError) Error() string { return e.err.Error() }
func (e *objectError) Unwrap() error { return e.err }

// placed puts the place of an error before it, unless that is the object's own.
func placed(place string, err error) error {
	var own *objectError
	if errors.As(err, &own) {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}
