package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// ErrInjected is an error that a test injects, to be told from any other.
var ErrInjected = errors.New("injected")

// Call is one call of a Runtime.
type Call struct {
	Method string    // SyncPod, KillPod, ListPods, PodStatus, RemovePod …
	UID    types.UID // of the pod; "" where the method has none
}

// Funcs change a Runtime, each where it is set. They may be called
// concurrently.
type Funcs struct {
	// Before is called before every call but Watch. It may wait, with [Wait]
	// or [Hang], and keeps the call from happening by returning an error.
	Before func(ctx context.Context, c Call) error
	// After is called after a call that happened, and gives the error that
	// the caller sees: one that took effect may still seem to fail.
	After func(ctx context.Context, c Call, err error) error

	// These take the place of the call, and may make it on the Runtime that
	// they are given.
	SyncPod   func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error)
	KillPod   func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error
	ListPods  func(ctx context.Context, rt runtime.Runtime) ([]runtime.ListedPod, error)
	PodStatus func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error)
	Watch     func(ctx context.Context, w runtime.Watcher, notify func(types.UID)) error
}

// Intercept returns a Runtime that passes calls on to rt as the funcs say. It
// is a Watcher and a Cleaner if rt is; it always is an Execer, a LogReader and a
// StatsProvider, which give ErrNotSupported if rt is none, and a Resizer that can
// what rt can; and never an ImagePuller.
func Intercept(rt runtime.Runtime, funcs Funcs) runtime.Runtime {
	base := &intercepted{rt, funcs}
	w, watches := rt.(runtime.Watcher)
	c, cleans := rt.(runtime.Cleaner)
	watcher, cleaner := interceptedWatcher{w, funcs}, interceptedCleaner{c, base}
	switch {
	case watches && cleans:
		return struct {
			*intercepted
			interceptedWatcher
			interceptedCleaner
		}{base, watcher, cleaner}
	case watches:
		return struct {
			*intercepted
			interceptedWatcher
		}{base, watcher}
	case cleans:
		return struct {
			*intercepted
			interceptedCleaner
		}{base, cleaner}
	}
	return base
}

// Bare returns rt without its optional powers.
func Bare(rt runtime.Runtime) runtime.Runtime { return struct{ runtime.Runtime }{rt} }

type intercepted struct {
	rt runtime.Runtime
	f  Funcs
}

// around makes one call between Before and After.
func (i *intercepted) around(ctx context.Context, c Call, call func() error) error {
	if i.f.Before != nil {
		if err := i.f.Before(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.Method, err)
		}
	}
	err := call()
	if i.f.After != nil {
		err = i.f.After(ctx, c, err)
	}
	return err
}

func (i *intercepted) SyncPod(ctx context.Context, req runtime.SyncRequest) (res runtime.SyncResult, err error) {
	err = i.around(ctx, Call{"SyncPod", req.Pod.UID}, func() (err error) {
		if i.f.SyncPod != nil {
			res, err = i.f.SyncPod(ctx, i.rt, req)
		} else {
			res, err = i.rt.SyncPod(ctx, req)
		}
		return err
	})
	return res, err
}

func (i *intercepted) KillPod(ctx context.Context, req runtime.KillRequest) error {
	return i.around(ctx, Call{"KillPod", req.Ref.UID}, func() error {
		if i.f.KillPod != nil {
			return i.f.KillPod(ctx, i.rt, req)
		}
		return i.rt.KillPod(ctx, req)
	})
}

func (i *intercepted) ListPods(ctx context.Context) (pods []runtime.ListedPod, err error) {
	err = i.around(ctx, Call{Method: "ListPods"}, func() (err error) {
		if i.f.ListPods != nil {
			pods, err = i.f.ListPods(ctx, i.rt)
		} else {
			pods, err = i.rt.ListPods(ctx)
		}
		return err
	})
	return pods, err
}

func (i *intercepted) PodStatus(ctx context.Context, uid types.UID) (st *runtime.PodStatus, err error) {
	err = i.around(ctx, Call{"PodStatus", uid}, func() (err error) {
		if i.f.PodStatus != nil {
			st, err = i.f.PodStatus(ctx, i.rt, uid)
		} else {
			st, err = i.rt.PodStatus(ctx, uid)
		}
		return err
	})
	return st, err
}

func (i *intercepted) CanResize() bool {
	r, ok := i.rt.(runtime.Resizer)
	return ok && r.CanResize()
}

func (i *intercepted) Exec(ctx context.Context, containerID string, command []string, streams runtime.ExecIO) (code int, err error) {
	err = i.around(ctx, Call{Method: "Exec"}, func() (err error) {
		e, ok := i.rt.(runtime.Execer)
		if !ok {
			return fmt.Errorf("exec: %w", runtime.ErrNotSupported)
		}
		code, err = e.Exec(ctx, containerID, command, streams)
		return err
	})
	return code, err
}

func (i *intercepted) Logs(ctx context.Context, containerID string, opts runtime.LogOptions) (log io.ReadCloser, err error) {
	err = i.around(ctx, Call{Method: "Logs"}, func() (err error) {
		l, ok := i.rt.(runtime.LogReader)
		if !ok {
			return fmt.Errorf("logs: %w", runtime.ErrNotSupported)
		}
		log, err = l.Logs(ctx, containerID, opts)
		return err
	})
	return log, err
}

func (i *intercepted) PodStats(ctx context.Context, uid types.UID) (st *runtime.PodStats, err error) {
	err = i.around(ctx, Call{"PodStats", uid}, func() (err error) {
		s, ok := i.rt.(runtime.StatsProvider)
		if !ok {
			return fmt.Errorf("stats: %w", runtime.ErrNotSupported)
		}
		st, err = s.PodStats(ctx, uid)
		return err
	})
	return st, err
}

type interceptedWatcher struct {
	w runtime.Watcher
	f Funcs
}

func (i interceptedWatcher) Watch(ctx context.Context, notify func(types.UID)) error {
	if i.f.Watch != nil {
		return i.f.Watch(ctx, i.w, notify)
	}
	return i.w.Watch(ctx, notify)
}

type interceptedCleaner struct {
	c runtime.Cleaner
	i *intercepted
}

func (c interceptedCleaner) RemoveVolumes(ctx context.Context, uid types.UID) error {
	return c.i.around(ctx, Call{"RemoveVolumes", uid}, func() error { return c.c.RemoveVolumes(ctx, uid) })
}

func (c interceptedCleaner) RemovePod(ctx context.Context, uid types.UID) error {
	return c.i.around(ctx, Call{"RemovePod", uid}, func() error { return c.c.RemovePod(ctx, uid) })
}
