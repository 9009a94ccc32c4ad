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
	"github.com/kubeparts/kubeparts/runtime"
)

// Subject is a StatsProvider to check.
type Subject struct {
	Provider eviction.StatsProvider
	// Pods are UIDs that it knows; none checks the node alone.
	Pods []types.UID
}

// Rule is one thing that a StatsProvider keeps to.
type Rule struct {
	Name string
	// Text is the sentence of the contract.
	Text  string
	check func(context.Context, Subject) error
}

// Rules are all rules of the suite.
func Rules() []Rule {
	return []Rule{
		{"measures", "something is measured, without an error", measuresSomething},
		{"possible", "no figure is negative, beyond int64, or larger than its capacity", isPossible},
		{"missing", "what can't be measured is missing, not zero: no capacity is zero", isMissing},
		{"times", "every figure has a time, which never goes back", timesGoOn},
		{"unknown", "an unknown pod gives an error that wraps runtime.ErrNotFound", unknownPod},
		{"pods", "a pod's stats are those of the pod, and name no container or volume twice", podsAreThemselves},
		{"own", "what was returned is not written to later", isNotShared},
		{"context", "a call returns soon after its context ends, with an error", obeysContext},
		{"concurrent", "calls from many goroutines give what one gives", isConcurrent},
	}
}

// Check holds a provider against the rule; the error names it.
func (r Rule) Check(ctx context.Context, s Subject) error {
	if err := r.check(ctx, s); err != nil {
		return fmt.Errorf("rule %s: %s: %w", r.Name, r.Text, err)
	}
	return nil
}

// Check goes through all rules and joins what is broken.
func Check(ctx context.Context, s Subject) error {
	var broken []error
	for _, r := range Rules() {
		broken = append(broken, r.Check(ctx, s))
	}
	return errors.Join(broken...)
}

// Test runs every rule as a test of its own. Each gets a provider from newSubject.
func Test(t *testing.T, newSubject func(t *testing.T) Subject) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			if err := r.Check(t.Context(), newSubject(t)); err != nil {
				t.Error(err)
			}
		})
	}
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
		if stats == nil || stats.PodRef.UID != uid {
			return fmt.Errorf("pod %s: the stats are another's, %v", uid, stats)
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

// soon bounds what "soon after the context" means.
const soon = time.Minute

func obeysContext(ctx context.Context, s Subject) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	returned := make(chan error, 1)
	go func() {
		_, err := s.Provider.NodeStats(ended)
		returned <- err
	}()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case err := <-returned:
		if err == nil {
			return errors.New("no error although the context had ended")
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("still under way %s after its context ended", soon)
	}
}

func isConcurrent(ctx context.Context, s Subject) error {
	var calls sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		calls.Go(func() {
			errs[i] = isPossible(ctx, s)
			for _, uid := range s.Pods {
				_, err := s.Provider.PodStats(ctx, uid)
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	calls.Wait()
	return errors.Join(errs...)
}
