package podruntime

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Doing names the calls that are on their way for a pod: hooks, pulls, and what
// the backend was asked for.
func (r *Runtime) Doing(uid types.UID) []runtime.Doing {
	s := r.known(uid)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]runtime.Doing, len(s.doing))
	for i, d := range s.doing {
		list[i] = *d
	}
	return list
}

// begin notes that a call begins; the function it returns, that it has ended.
func (s *podState) begin(what, of string) (end func()) {
	d := &runtime.Doing{What: what + of, Since: time.Now()}
	s.mu.Lock()
	s.doing = append(s.doing, d)
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		s.doing = slices.DeleteFunc(s.doing, func(other *runtime.Doing) bool { return other == d })
		s.mu.Unlock()
	}
}
