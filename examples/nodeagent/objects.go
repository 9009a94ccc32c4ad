package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/source"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// objects are the ConfigMaps and Secrets of a folder, of which those are kept that
// pods refer to. Nil are none.
type objects struct {
	path   string
	folder *source.Objects
	cache  *podmanager.Cache
}

func newObjects(path string, events *eventLog) (*objects, error) {
	if path == "" {
		return nil, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("--objects %s: %w", path, err)
	}
	folder := &source.Objects{Path: abs, OnProblem: func(p podmanager.Problem) {
		p.Source = "objects"
		reportProblem(events, p)
	}}
	cache, err := podmanager.NewCache(podmanager.CacheConfig{ConfigMaps: folder.ConfigMaps(), Secrets: folder.Secrets()})
	if err != nil {
		return nil, err
	}
	return &objects{path: abs, folder: folder, cache: cache}, nil
}

// orNone is what the runtime asks for objects.
func (o *objects) orNone() podruntime.Objects {
	if o == nil {
		return nil
	}
	return o.cache
}

// run reads the folder and keeps the cache until the context ends.
func (o *objects) run(ctx context.Context, parts *sync.WaitGroup) {
	if o == nil {
		return
	}
	parts.Go(func() { _ = o.folder.Run(ctx) }) // it fails only without a path
	parts.Go(func() { _ = o.cache.Run(ctx) })  // the folder's watches end with the context
}

// parts are what status and dump tell of the objects.
func (o *objects) parts() []syncloop.Part {
	if o == nil {
		return nil
	}
	return []syncloop.Part{{Name: "objects", Health: o.health}}
}

// health tells how the folder does, and how many of its objects pods refer to.
func (o *objects) health() syncloop.HealthCheck {
	folder, stats := o.folder.Status(), o.cache.Stats()
	check := syncloop.HealthCheck{
		Name: "objects", OK: true, Since: folder.LastGood,
		Detail: fmt.Sprintf("%d of %d ConfigMaps and Secrets of %s in use", stats.Objects, folder.Objects, o.path),
	}
	if err := cmp.Or(folder.Err, stats.Err); err != nil {
		check.OK, check.LastError = false, err.Error()
	}
	return check
}
