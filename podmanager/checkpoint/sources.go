package checkpoint

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// RetiredError says that a source which has pods on disk is not configured any
// more. It is the problem of a source of that name, until its pods have gone.
type RetiredError struct {
	Source string
	// Pods is how many pods were restored.
	Pods int
}

// Error says what becomes of the pods.
func (e *RetiredError) Error() string {
	pods := fmt.Sprintf("%d pods go", e.Pods)
	if e.Pods == 1 {
		pods = "one pod goes"
	}
	return fmt.Sprintf("source %s is not configured any more; its %s once all other sources have said what they want", e.Source, pods)
}

// Sources returns the sources to give to a podmanager.Config in the place of
// these: each begins with the pods that are on disk from it, as OpRestore, and
// goes on as itself. Sources that are on disk only are among them, too: they
// report a [*RetiredError], and want nothing any more as soon as all others have
// said their lists. It is called once.
func (f *Folder) Sources(configured map[string]podmanager.PodSource) map[string]podmanager.PodSource {
	all := make(map[string]podmanager.PodSource, len(configured))
	silent := newSilent(configured)
	for name, source := range configured {
		if source != nil { // nil is for NewPodConfig to refuse
			source = &restoring{PodSource: source, folder: f, name: name, silent: silent}
		}
		all[name] = source
	}
	for name := range f.restored {
		if _, ok := configured[name]; !ok {
			all[name] = &restoring{PodSource: f.retired(name, silent), folder: f, name: name, silent: silent}
		}
	}
	return all
}

// retired is a source that is there no more.
func (f *Folder) retired(name string, silent *silent) podmanager.PodSource {
	return podmanager.SourceFunc(func(ctx context.Context, deliver func(podmanager.Report)) error {
		deliver(podmanager.Report{Err: &RetiredError{Source: name, Pods: len(f.restored[name])}})
		select {
		case <-silent.none:
			deliver(podmanager.Report{Op: podmanager.OpSet})
			<-ctx.Done()
		case <-ctx.Done():
		}
		return nil
	})
}

// restoring is a source that begins with what is on disk from it.
type restoring struct {
	podmanager.PodSource
	folder *Folder
	name   string
	silent *silent
}

// Run implements [podmanager.PodSource].
func (s *restoring) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	if pods := s.folder.restored[s.name]; len(pods) > 0 {
		deliver(podmanager.Report{Op: podmanager.OpRestore, Pods: pods})
	}
	heard := false
	return s.PodSource.Run(ctx, func(r podmanager.Report) {
		first := r.Op == podmanager.OpSet && !heard
		if first {
			s.folder.confirm(s.name, r.Pods)
		}
		deliver(r)
		if first {
			heard = true
			s.silent.heard(s.name)
		}
	})
}

// confirm drops the restored pods that the source's first list does not have. Those
// that nobody has heard of yet are in no update.
func (f *Folder) confirm(source string, pods []*v1.Pod) {
	wanted := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		if pod != nil {
			wanted[pod.UID] = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pod := range f.restored[source] {
		if r := f.records[pod.UID]; r != nil && r.Source == source && !wanted[pod.UID] {
			f.drop(pod.UID)
		}
	}
}

// silent are the configured sources that have not said their lists yet.
type silent struct {
	none chan struct{} // closed when there is none

	mu    sync.Mutex
	names map[string]bool
}

func newSilent(sources map[string]podmanager.PodSource) *silent {
	s := &silent{none: make(chan struct{}), names: map[string]bool{}}
	for name := range sources {
		s.names[name] = true
	}
	if len(s.names) == 0 {
		close(s.none)
	}
	return s
}

func (s *silent) heard(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.names[name] {
		return
	}
	delete(s.names, name)
	if len(s.names) == 0 {
		close(s.none)
	}
}
