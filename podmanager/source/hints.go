package source

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// hints tells that a file or folder may have changed. It watches the path, if
// it is a folder, and the folder that holds it, so that a path which is removed,
// replaced or made anew is noticed too. Without a watch, hints never come.
type hints struct {
	path    string
	watcher *fsnotify.Watcher
	logger  *slog.Logger
	folder  fs.FileInfo // the folder at path that is watched, nil for none
}

func newHints(path string, off bool, logger *slog.Logger) *hints {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	h := &hints{path: filepath.Clean(path), logger: logger}
	if off {
		return h
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		logger.Warn("no watch on manifests, they are read periodically", "path", path, "error", err)
		return h
	}
	h.watcher = watcher
	return h
}

// events gives what happens in the watched folders; nil without a watch.
func (h *hints) events() <-chan fsnotify.Event {
	if h.watcher == nil {
		return nil
	}
	return h.watcher.Events
}

// errors tells that events were lost.
func (h *hints) errors() <-chan error {
	if h.watcher == nil {
		return nil
	}
	return h.watcher.Errors
}

// concern tells whether something of that name is the path or lies in it; its
// neighbours are of no interest.
func (h *hints) concern(name string) bool {
	return name == h.path || filepath.Dir(name) == h.path
}

// await waits for a hint, and for the end of what follows it, or for the period; it
// returns false once the context ended.
func (h *hints) await(ctx context.Context, period <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case event := <-h.events():
			if !h.concern(event.Name) {
				continue
			}
			h.drainFor(ctx, settle)
		case <-h.errors(): // what was missed may be anything
			h.drainFor(ctx, settle)
		case <-period:
		}
		return true
	}
}

// drainFor swallows events for a while, so that a burst leads to one read.
func (h *hints) drainFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-h.events():
		case <-h.errors():
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// renew sees to it that what stands at the path now is watched. It is called
// before each read, so that nothing that happens after the read is missed.
func (h *hints) renew() {
	if h.watcher == nil {
		return
	}
	h.add(filepath.Dir(h.path))
	info, err := os.Stat(h.path)
	if err != nil || !info.IsDir() {
		h.folder = nil
		return
	}
	if h.folder != nil && !os.SameFile(h.folder, info) {
		_ = h.watcher.Remove(h.path) // the watch went with the folder that was here
	}
	if h.add(h.path) { // which does nothing for a folder that is watched
		h.folder = info
	}
}

func (h *hints) add(path string) bool {
	if err := h.watcher.Add(path); err != nil {
		h.logger.Debug("no watch, it is tried again at the next read", "path", path, "error", err)
		return false
	}
	return true
}

func (h *hints) close() {
	if h.watcher != nil {
		_ = h.watcher.Close()
	}
}
