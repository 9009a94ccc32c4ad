package main

import (
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

// health tells how the objects do that pods refer to.
func (o *objects) health() []syncloop.HealthCheck {
	if o == nil {
		return nil
	}
	stats := o.cache.Stats()
	check := syncloop.HealthCheck{
		Name: "objects", OK: stats.Err == nil,
		Detail: fmt.Sprintf("%d ConfigMaps and Secrets of %s in use", stats.Objects, o.path),
	}
	if stats.Err != nil {
		check.LastError = stats.Err.Error()
	}
	return []syncloop.HealthCheck{check}
}
