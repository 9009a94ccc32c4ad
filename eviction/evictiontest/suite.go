package evictiontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

// Subject is a StatsProvider to check.
type Subject struct {
	Provider eviction.StatsProvider
	// Pods are UIDs that it knows; none checks the node alone.
	Pods []types.UID
}

var rules = conformance.Rules[Subject]{
	{Name: "measures", Text: "something is measured, without an error", Check: measuresSomething},
	{Name: "possible", Text: "no figure is negative, beyond int64, or larger than its capacity", Check: isPossible},
	{Name: "missing", Text: "what can't be measured is missing, not zero: no capacity is zero", Check: isMissing},
	{Name: "times", Text: "every figure has a time, which never goes back", Check: timesGoOn},
	{Name: "unknown", Text: "an unknown pod gives an error that wraps runtime.ErrNotFound", Check: unknownPod},
	{Name: "pods", Text: "a pod's stats are those of the pod, and name no container or volume twice", Check: podsAreThemselves},
	{Name: "own", Text: "what was returned is not written to later", Check: isNotShared},
	{Name: "context", Text: "a call returns soon after its context ends, with an error", Check: obeysContext},
	{Name: "concurrent", Text: "calls from many goroutines give what one gives", Check: isConcurrent},
}

// TestStatsProvider checks each rule of an [eviction.StatsProvider] in a subtest, each
// with a provider of its own.
func TestStatsProvider(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	rules.Test(t, func(t *testing.T) conformance.Open[Subject] {
		s := open(t)
		return func(context.Context) (Subject, func() error, error) { return s, nil, nil }
	}, conformance.Options{})
}

// RuleError is a rule that an implementation breaks: its Name and Text, and how, Err.
// The errors of the suites join one for each.
type RuleError = conformance.RuleError

// CheckStatsProvider is [TestStatsProvider] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckStatsProvider(ctx context.Context, open func() Subject) error {
	return rules.Check(ctx, func(context.Context) (Subject, func() error, error) {
		return open(), nil, nil
	}, conformance.Options{})
}

// observe is what a provider says of its node.
func observe(ctx context.Context, s Subject) ([]eviction.Observation, error) {
	n, err := s.Provider.NodeStats(ctx)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, errors.New("no stats and no error")
	}
	seen := eviction.Observe(n)
	if o, ok := s.Provider.(eviction.Observer); ok {
		more, err := o.Observe(ctx)
		if err != nil {
			return nil, err
		}
		seen = append(seen, more...)
	}
	return seen, nil
}

func measuresSomething(ctx context.Context, s Subject) error {
	seen, err := observe(ctx, s)
	if err == nil && len(seen) == 0 {
		err = errors.New("nothing is measured")
	}
	return err
}

func isPossible(ctx context.Context, s Subject) error {
	seen, err := observe(ctx, s)
	for _, o := range seen {
		if !o.Possible() {
			return fmt.Errorf("%s: %d available of %d", o.Signal, o.Available, o.Capacity)
		}
	}
	return err
}

func isMissing(ctx context.Context, s Subject) error {
	n, err := s.Provider.NodeStats(ctx)
	if err != nil || n == nil {
		return err
	}
	for _, o := range eviction.Observe(n) {
		if o.Capacity == 0 {
			return fmt.Errorf("%s has a capacity of zero", o.Signal)
		}
	}
	disks := map[string]*eviction.FsStats{"fs": n.Fs}
	if n.Runtime != nil {
		disks["imageFs"], disks["containerFs"] = n.Runtime.ImageFs, n.Runtime.ContainerFs
	}
	for name, fs := range disks {
		if fs != nil && fs.Inodes != nil && *fs.Inodes == 0 {
			return fmt.Errorf("%s has zero inodes", name)
		}
	}
	return nil
}

func timesGoOn(ctx context.Context, s Subject) error {
	last := map[eviction.Signal]time.Time{}
	for range 3 {
		seen, err := observe(ctx, s)
		if err != nil {
			return err
		}
		for _, o := range seen {
			if o.Time.IsZero() {
				return fmt.Errorf("%s has no time", o.Signal)
			}
			if o.Time.Before(last[o.Signal]) {
				return fmt.Errorf("%s: %s after %s", o.Signal, o.Time, last[o.Signal])
			}
			last[o.Signal] = o.Time
		}
	}
	return nil
}

func unknownPod(ctx context.Context, s Subject) error {
	stats, err := s.Provider.PodStats(ctx, "no-such-pod")
	switch {
	case err == nil:
		return fmt.Errorf("no error, but %v", stats)
	case !errors.Is(err, runtime.ErrNotFound):
		return fmt.Errorf("another error: %w", err)
	}
	return nil
}

func podsAreThemselves(ctx context.Context, s Subject) error {
	for _, uid := range s.Pods {
		stats, err := s.Provider.PodStats(ctx, uid)
		if err != nil {
			return fmt.Errorf("pod %s: %w", uid, err)
		}
		if stats == nil {
			return fmt.Errorf("pod %s: no stats and no error", uid)
		}
		if stats.PodRef.UID != uid {
			return fmt.Errorf("pod %s: the UID in the PodRef of its stats is %q", uid, stats.PodRef.UID)
		}
		names := map[string]bool{}
		for i := range stats.Containers {
			names["container "+stats.Containers[i].Name] = true
		}
		for i := range stats.Volumes {
			names["volume "+stats.Volumes[i].Name] = true
		}
		if len(names) != len(stats.Containers)+len(stats.Volumes) {
			return fmt.Errorf("pod %s: a container or volume is there twice", uid)
		}
	}
	return nil
}

func isNotShared(ctx context.Context, s Subject) error {
	first, err := s.Provider.NodeStats(ctx)
	if err != nil {
		return err
	}
	before := eviction.Observe(first)
	for range 3 {
		if _, err := s.Provider.NodeStats(ctx); err != nil {
			return err
		}
	}
	if after := eviction.Observe(first); !slices.Equal(before, after) {
		return fmt.Errorf("%v became %v", before, after)
	}
	return nil
}

func obeysContext(ctx context.Context, s Subject) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Provider.NodeStats(ended); err == nil {
		return errors.New("no error although the context had ended")
	}
	return nil
}

func isConcurrent(ctx context.Context, s Subject) error {
	var calls sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		calls.Go(func() {
			errs[i] = conformance.Guard(func() error {
				err := isPossible(ctx, s)
				for _, uid := range s.Pods {
					_, podErr := s.Provider.PodStats(ctx, uid)
					err = errors.Join(err, podErr)
				}
				return err
			})
		})
	}
	calls.Wait()
	return errors.Join(errs...)
}
