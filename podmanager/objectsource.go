package podmanager

import "context"

// ObjectSource reads the objects of one kind. What it may do besides is found by
// type assertion: [ObjectWatcher], [NamespaceWatcher]. Its methods may be called
// concurrently and return soon after their context ends. No error holds anything
// of an object's content.
type ObjectSource interface {
	// Get reads one object. One that does not exist is an error for which
	// [apierrors.IsNotFound] is true, as of ObjectRef.NotFound; any other error
	// means that nobody knows.
	Get(ctx context.Context, namespace, name string) (Object, error)
}

// ObjectSourceFunc makes an ObjectSource of a function.
type ObjectSourceFunc func(ctx context.Context, namespace, name string) (Object, error)

// Get calls f.
func (f ObjectSourceFunc) Get(ctx context.Context, namespace, name string) (Object, error) {
	return f(ctx, namespace, name)
}

// ObjectWatcher is an ObjectSource that can follow one object.
type ObjectWatcher interface {
	// WatchObject delivers the object, and then each change of it, until the
	// context ends or nothing can be delivered any more; it is called again then.
	// The first word is an OpSet of what there is: the object, or nothing. What
	// was delivered is not written to any more. deliver is called from one
	// goroutine at a time, and does not block.
	WatchObject(ctx context.Context, namespace, name string, deliver func(ObjectReport)) error
}

// NamespaceWatcher is an ObjectSource that can follow all objects of a namespace
// at once, which costs less than many watches.
type NamespaceWatcher interface {
	// WatchNamespace is WatchObject for all objects of a namespace: the first
	// word is an OpSet of all that are there.
	WatchNamespace(ctx context.Context, namespace string, deliver func(ObjectReport)) error
}

// ObjectReport is one word of a watch: what is there (OpSet), what is new or
// changed (OpAdd and OpUpdate, which mean the same), what is gone (OpRemove, where
// names are enough), or, with an empty Op, how the source does.
type ObjectReport struct {
	Op      Op
	Objects []Object
	// Err is what is wrong with the source now, nil when it is well. What it said
	// before still holds.
	Err error
}
