package syncloop

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// SyncLoop brings what should run and what does run together: it is the handler
// of the loop's steps that most hosts want, with the loop around it. Its methods
// may be called from any goroutine, save the Handle ones, which the loop calls.
type SyncLoop struct {
	cfg Config
}

// New makes a loop. It starts nothing; the error names the field that is wrong.
func New(cfg Config) (*SyncLoop, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &SyncLoop{cfg: cfg}, nil
}

// Run runs the loop until its context ends or the updates are closed. All pods
// are left running. When it returns, every goroutine that it started has ended.
// A loop runs once.
func (l *SyncLoop) Run(ctx context.Context) error { return nil }

// Shutdown stops all pods, each with its grace, and returns once nothing runs
// and the sink has their last statuses, or when the context ends; the error then
// says what still runs. From its first call on no pod is let in, with Reason
// NodeShutdown. A further call, at the same time, hurries the first one. The loop goes on
// meanwhile, and afterwards until its context ends.
func (l *SyncLoop) Shutdown(ctx context.Context, opts ShutdownOptions) error { return nil }

// Pods returns what is known of each pod, sorted by namespace, name and UID. It does
// not stop the loop, and works after Run too.
func (l *SyncLoop) Pods() []*PodView { return nil }

// Pod returns what is known of one pod.
func (l *SyncLoop) Pod(uid types.UID) (*PodView, bool) { return nil, false }
