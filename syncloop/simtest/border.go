package simtest

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// border is the runtime as one agent sees it.
type border struct {
	*world
	agent *agent
}

// cleaning is a border of a runtime that cleans up.
type cleaning struct {
	border
	cleaner runtime.Cleaner
}

// newBorder returns the runtime for an agent. It is a Cleaner if the runtime is,
// and a Watcher if the agent is to have hints.
func (w *world) newBorder(a *agent) runtime.Runtime {
	b := border{w, a}
	cleaner, cleans := w.runtime.(runtime.Cleaner)
	c := cleaning{b, cleaner}
	switch {
	case cleans && w.watches:
		return struct {
			cleaning
			watching
		}{c, watching{w, a}}
	case cleans:
		return c
	case w.watches:
		return struct {
			border
			watching
		}{b, watching{w, a}}
	}
	return b
}

func (b border) SyncPod(ctx context.Context, req runtime.SyncRequest) (res runtime.SyncResult, err error) {
	err = b.agent.call(ctx, "SyncPod", req.Pod.UID, func() (err error) {
		res, err = b.runtime.SyncPod(ctx, req)
		return err
	})
	return res, err
}

func (b border) KillPod(ctx context.Context, req runtime.KillRequest) error {
	return b.agent.call(ctx, "KillPod", req.Ref.UID, func() error {
		b.stopBegins(req.Ref.UID)
		return b.runtime.KillPod(ctx, req)
	})
}

func (b border) ListPods(ctx context.Context) (pods []runtime.ListedPod, err error) {
	err = b.agent.call(ctx, "ListPods", "", func() (err error) {
		pods, err = b.runtime.ListPods(ctx)
		b.listed = b.listed || err == nil
		return err
	})
	return pods, err
}

func (b border) PodStatus(ctx context.Context, uid types.UID) (st *runtime.PodStatus, err error) {
	err = b.agent.call(ctx, "PodStatus", uid, func() (err error) {
		st, err = b.runtime.PodStatus(ctx, uid)
		return err
	})
	return st, err
}

func (c cleaning) RemoveVolumes(ctx context.Context, uid types.UID) error {
	return c.agent.call(ctx, "RemoveVolumes", uid, func() error { return c.cleaner.RemoveVolumes(ctx, uid) })
}

func (c cleaning) RemovePod(ctx context.Context, uid types.UID) error {
	return c.agent.call(ctx, "RemovePod", uid, func() error {
		err := c.cleaner.RemovePod(ctx, uid)
		if err == nil {
			c.removed(uid)
		}
		return err
	})
}

// watching gives the hints that the world lets through.
type watching struct {
	world *world
	agent *agent
}

func (w watching) Watch(ctx context.Context, notify func(types.UID)) error {
	err := w.agent.call(ctx, "Watch", "", func() error {
		w.world.notify = notify
		return nil
	})
	if err != nil {
		return err
	}
	notify("")
	<-ctx.Done()
	return ctx.Err()
}

// storing is the store as one agent sees it.
type storing struct {
	*world
	agent *agent
}

func (s storing) Load(ctx context.Context) (records []syncloop.Record, err error) {
	err = s.agent.call(ctx, "Load", "", func() (err error) {
		records, err = s.store.Load(ctx)
		return err
	})
	if err == nil || s.agent.killed() {
		return records, err
	}
	// Part of what is there may be read beside an error.
	records = slices.DeleteFunc(slices.Clone(records), func(syncloop.Record) bool { return s.losing.chance(30) })
	s.agent.amnesia = true
	s.remembered(byUID(records))
	return records, err
}

func (s storing) Commit(ctx context.Context, b syncloop.Batch) error {
	return s.agent.call(ctx, "Commit", "", func() error {
		for i := range b.Save {
			s.checkRecord(&b.Save[i])
		}
		return s.store.Commit(ctx, b)
	})
}

// sinking is the sink as one agent sees it.
type sinking struct {
	*world
	agent *agent
}

func (s sinking) SetStatus(ctx context.Context, u syncloop.StatusUpdate) error {
	return s.agent.call(ctx, "SetStatus", u.Pod.UID, func() error {
		s.said(u)
		s.api.setStatus(u)
		return nil
	})
}
