//go:build unix

package process

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// look is what was seen of a sandbox at one time.
type look struct {
	sandbox    *sandbox
	ready      bool
	silent     bool // the keeper lives and does not answer; this is from disk
	containers []keeper.Container
}

// lookTimeout is how long a keeper may take to answer. It takes microseconds,
// unless somebody stopped the process.
const lookTimeout = 5 * time.Second

// lookers is how many keepers are asked at a time.
const lookers = 8

// look asks the keeper, and when that is gone, clears up after it.
func (b *Backend) look(ctx context.Context, s *sandbox) (look, error) {
	if s.isGone() {
		return s.remember(), nil
	}
	asked, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	resp, err := keeper.Call(asked, s.dir, &keeper.Request{Op: keeper.OpList})
	switch {
	case err == nil:
		return look{sandbox: s, ready: !resp.Closing, containers: resp.Containers}, nil
	case errors.Is(err, keeper.ErrGone):
		if err := b.bury(ctx, s); err != nil {
			return look{}, err
		}
		return s.remember(), nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		records, _, err := s.readContainers()
		return look{sandbox: s, ready: true, silent: true, containers: records}, err
	default:
		return look{}, err
	}
}

// lookAtAll looks at several sandboxes at the same time.
func (b *Backend) lookAtAll(ctx context.Context, sandboxes []*sandbox) ([]look, error) {
	looks, errs := make([]look, len(sandboxes)), make([]error, len(sandboxes))
	free := make(chan struct{}, lookers)
	var all sync.WaitGroup
	for i, s := range sandboxes {
		if s.isGone() {
			looks[i] = s.remember()
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			looks[i], errs[i] = b.look(ctx, s)
			<-free
		})
	}
	all.Wait()
	return looks, errors.Join(errs...)
}

func (s *sandbox) isGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// remember is the look at a sandbox whose keeper is gone.
func (s *sandbox) remember() look {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.remains))
	l := look{sandbox: s}
	for _, id := range ids {
		l.containers = append(l.containers, s.remains[id])
	}
	return l
}
