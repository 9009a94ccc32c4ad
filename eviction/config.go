package eviction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// annotatedRecorder is a runtime.EventRecorder that takes annotations.
type annotatedRecorder interface {
	AnnotatedEventf(object apiruntime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any)
}

// Notifier wakes a [Manager] when memory may be short, so that it need not wait
// for its interval. nodestats has those of Linux.
type Notifier interface {
	// Watch calls notify each time that memory may have become short, until
	// its context ends. notify does not block. An error means that the
	// manager polls from then on.
	Watch(ctx context.Context, notify func()) error
}

// Refresher is a Notifier that must be told the figures anew now and then: its
// limits depend on what the page cache takes.
type Refresher interface {
	Refresh(thresholds []Threshold, node *NodeStats) error
}

// Config is what a [Manager] is made of. Stats, Pods and Kill are required.
type Config struct {
	// Policy to decide by. Thresholds of the containers' file system are
	// derived from the others.
	Policy Policy
	// Stats measures the node and its pods. Required.
	Stats StatsProvider
	// Pods gives the active pods: admitted, not finished, not evicted.
	// Required. The slice is not kept, the pods are. With a sync loop these are
	// its Pods in the stages Sync and Terminating.
	Pods func() []*v1.Pod
	// Kill evicts a pod: it makes it Failed with the victim's message and
	// condition, and returns once nothing of it runs, or could not be stopped.
	// Required. Pods over their limits are killed side by side. With a sync loop
	// this is its Kill: Override becomes the Grace, Message and Condition the
	// Verdict, and a pod that it does not know is no failure.
	Kill func(ctx context.Context, victim Victim) error
	// CleanedUp tells whether all that an evicted pod had is given back. The
	// next round waits for it. Nil: Kill waits long enough.
	CleanedUp func(uid types.UID) bool
	// Reclaim frees what the node wastes. A kind that is missing frees
	// nothing.
	Reclaim map[Reclaim]func(ctx context.Context) error
	// Protect says why a pod may not go, "" when it may. Nil is the kubelet's
	// rule, admission.WhyCritical.
	Protect func(pod *v1.Pod) string
	// Notifier wakes the manager early; nil leaves it to its interval.
	Notifier Notifier

	// Node is the subject of events about the node; nil sends none.
	Node *v1.ObjectReference
	// Events is where events go, with their annotations where it has client-go's
	// AnnotatedEventf, too; nil sends none.
	Events runtime.EventRecorder
	// Hooks are told what happens.
	Hooks Hooks
	// Logger; nil is silent.
	Logger *slog.Logger

	// Interval between rounds. Default 10 s. After an eviction the next round
	// begins at once.
	Interval time.Duration
	// StatsTimeout bounds what a round spends on measuring. Default 10 s.
	StatsTimeout time.Duration
	// CleanUpTimeout bounds the wait for CleanedUp, which is asked each
	// second. Default 30 s.
	CleanUpTimeout time.Duration
}

// Hooks are optional funcs that a [Manager] calls. They must not block.
type Hooks struct {
	// Round: a round is over. (kubelet_eviction_stats_age_seconds is the age
	// of out.State.Observations in it.)
	Round func(out *Outcome)
	// Conditions: the reported conditions changed.
	Conditions func(conditions []v1.NodeConditionType)
	// Evicted: a pod was told to go; err is why that failed. Signal is that of
	// kubelet_evictions, "" for a pod over its own limit.
	Evicted func(victim Victim, signal Signal, err error)
}

func (c Config) withDefaults() (Config, error) {
	var missing []error
	for name, absent := range map[string]bool{"Stats": c.Stats == nil, "Pods": c.Pods == nil, "Kill": c.Kill == nil} {
		if absent {
			missing = append(missing, fmt.Errorf("eviction: Config.%s is required", name))
		}
	}
	for s := range c.Policy.Custom {
		if s.Known() {
			missing = append(missing, fmt.Errorf("eviction: Config.Policy.Custom: %s is no signal of the host's own", s))
		}
	}
	if len(missing) > 0 {
		return c, errors.Join(missing...)
	}
	setDefault(&c.Interval, 10*time.Second)
	setDefault(&c.StatsTimeout, 10*time.Second)
	setDefault(&c.CleanUpTimeout, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}
