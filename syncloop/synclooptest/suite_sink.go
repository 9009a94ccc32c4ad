package synclooptest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/syncloop"
)

// TestSink checks each rule of a [syncloop.StatusSink] in a subtest, each with a
// sink of its own. The sink, or what is behind it, is well: it refuses nothing,
// and knows none of the pods. It is best run with the race detector.
func TestSink(t *testing.T, open func(t *testing.T) syncloop.StatusSink) {
	t.Helper()
	sinkRules.Test(t, func(t *testing.T) conformance.Open[syncloop.StatusSink] {
		sink := open(t)
		return func(context.Context) (syncloop.StatusSink, func() error, error) { return sink, nil, nil }
	}, conformance.Options{})
}

// CheckSink is [TestSink] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckSink(ctx context.Context, open func() syncloop.StatusSink) error {
	return sinkRules.Check(ctx, func(context.Context) (syncloop.StatusSink, func() error, error) {
		return open(), nil, nil
	}, conformance.Options{})
}

var sinkRules = conformance.Rules[syncloop.StatusSink]{
	{Name: "life", Text: "a sink takes a pod's life: also a pod without a mirror, and one that nobody knows any more", Check: checkSinkLife},
	{Name: "again", Text: "an update may come again, with its version, after one that arrived though it seemed not to", Check: checkSinkAgain},
	{Name: "pods-at-once", Text: "updates of different pods come concurrently", Check: checkSinkPodsAtOnce},
	{Name: "read-only", Text: "a sink writes to nothing that it is given", Check: checkSinkReadOnly},
	{Name: "context", Text: "a call returns soon after its context ends", Check: checkSinkContext},
}

// sunkUpdates are a pod's life, as a loop tells it.
func sunkUpdates(name string) []syncloop.StatusUpdate {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
	var life []syncloop.StatusUpdate
	for i, phase := range []v1.PodPhase{v1.PodPending, v1.PodRunning, v1.PodRunning, v1.PodSucceeded, v1.PodSucceeded} {
		life = append(life, syncloop.StatusUpdate{
			Pod: pod, Status: &v1.PodStatus{Phase: phase}, Version: uint64(i + 1), MayRun: i < 3, Finished: i == 4,
		})
	}
	return life
}

func sinkAll(ctx context.Context, sink syncloop.StatusSink, updates []syncloop.StatusUpdate) error {
	for _, u := range updates {
		if err := sink.SetStatus(ctx, u); err != nil {
			return fmt.Errorf("version %d of pod %s: %w", u.Version, u.Pod.Name, err)
		}
	}
	return nil
}

func checkSinkLife(ctx context.Context, sink syncloop.StatusSink) error {
	return sinkAll(ctx, sink, sunkUpdates("a"))
}

func checkSinkAgain(ctx context.Context, sink syncloop.StatusSink) error {
	for _, u := range sunkUpdates("a") {
		if err := sinkAll(ctx, sink, []syncloop.StatusUpdate{u, u}); err != nil {
			return err
		}
	}
	return nil
}

func checkSinkPodsAtOnce(ctx context.Context, sink syncloop.StatusSink) error {
	const pods = 16
	errs := make([]error, pods)
	var all sync.WaitGroup
	for i := range pods {
		all.Go(func() { errs[i] = sinkAll(ctx, sink, sunkUpdates(fmt.Sprint("pod-", i))) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func checkSinkReadOnly(ctx context.Context, sink syncloop.StatusSink) error {
	given, before := sunkUpdates("a"), sunkUpdates("a")
	if err := sinkAll(ctx, sink, given); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, given) {
		return errors.New("what was given to SetStatus has changed since")
	}
	return nil
}

func checkSinkContext(ctx context.Context, sink syncloop.StatusSink) error {
	ended, end := context.WithCancel(ctx)
	end()
	_ = sink.SetStatus(ended, sunkUpdates("a")[0]) // either answer will do, if it comes
	return nil
}
