package synclooptest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeparts/kubeparts/runtime"
)

// Events is a [runtime.EventRecorder] that keeps all events as lines: type,
// Reason, name of the pod, message. The zero value is ready. It is safe for
// concurrent use.
type Events struct {
	mu    sync.Mutex
	lines []string
}

var _ runtime.EventRecorder = (*Events)(nil)

// Eventf implements [runtime.EventRecorder].
func (e *Events) Eventf(object apiruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	name := fmt.Sprintf("%T", object)
	switch o := object.(type) {
	case *v1.Pod:
		name = o.Name
	case *v1.ObjectReference:
		name = o.Name
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, eventtype+" "+reason+" "+name+": "+fmt.Sprintf(messageFmt, args...))
}

// All returns all lines, oldest first.
func (e *Events) All() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lines)
}

// With returns the lines that hold a text, oldest first.
func (e *Events) With(text string) []string {
	return slices.DeleteFunc(e.All(), func(line string) bool { return !strings.Contains(line, text) })
}
