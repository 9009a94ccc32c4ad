package podmanagertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/podmanager"
)

// sourceRules, in the order in which they are checked. What deliver may be called
// with, and when, and that what was handed over is not written to any more, is
// watched throughout.
var sourceRules = conformance.Rules[*visit]{
	{Name: "empty", Text: "an empty world that can be read is an answer: an empty OpSet", Check: checkEmpty},
	{Name: "first-word", Text: "the first word is an OpSet of all pods, so that the source counts as heard", Check: checkFirstWord},
	{Name: "changes", Text: "what is added, changed and removed in the world is said", Check: checkChanges},
	{Name: "identity", Text: "a pod has namespace, name and UID, and keeps them while it does not change, also over a new Run", Check: checkIdentity},
	{Name: "handed-over", Text: "pods that were handed over are not written to any more", Check: checkHandedOver},
	{Name: "stop", Text: "Run returns nil soon after its context ends, and delivers nothing after that", Check: checkStop},
	{Name: "again", Text: "a new Run says everything again", Check: checkAgain},
	{Name: "silence", Text: "a world that can't be read is an error, and what was said last stays", Check: checkSilence},
	{Name: "one-bad", Text: "a bad manifest is refused alone, by name, and its last good version stays", Check: checkOneBad},
}

func checkEmpty(ctx context.Context, v *visit) error {
	v.start(ctx)
	if err := v.untilPods(); err != nil {
		return err
	}
	return v.isFirst(podmanager.OpSet)
}

func checkFirstWord(ctx context.Context, v *visit) error {
	if err := v.write("a", "b", "c"); err != nil {
		return err
	}
	v.start(ctx)
	if err := v.until("a first word", func(r *run) bool { return r.firstOp != "" }); err != nil {
		return err
	}
	return errors.Join(v.isFirst(podmanager.OpSet), v.untilPods("a", "b", "c"))
}

func (v *visit) isFirst(op podmanager.Op) error {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	if v.run.firstOp != op {
		return fmt.Errorf("the first word is %s", v.run.firstOp)
	}
	return nil
}

// history is a life of a world: each line is what it holds.
var history = [][]string{
	{"a"},
	{"a", "b"},
	{"a 2", "b"},
	{"a 2", "c"},
	{},
	{"b 3", "d"},
}

func checkChanges(ctx context.Context, v *visit) error {
	v.start(ctx)
	for _, pods := range history {
		if err := v.write(pods...); err != nil {
			return err
		}
		if err := v.untilPods(pods...); err != nil {
			return err
		}
	}
	return nil
}

func checkIdentity(ctx context.Context, v *visit) error {
	if err := v.startWith(ctx, "a", "b"); err != nil {
		return err
	}
	before := v.uids()
	if err := v.named(); err != nil {
		return err
	}
	if err := v.write("a", "b 2"); err != nil {
		return err
	}
	if err := v.untilPods("a", "b 2"); err != nil {
		return err
	}
	if now := v.uids()["a"]; now != before["a"] {
		return fmt.Errorf("the UID of an unchanged pod changed from %s to %s with another pod", before["a"], now)
	}
	if err := v.stop(); err != nil {
		return err
	}
	v.start(ctx)
	if err := v.untilPods("a", "b 2"); err != nil {
		return err
	}
	if now := v.uids()["a"]; now != before["a"] {
		return fmt.Errorf("the UID of an unchanged pod changed from %s to %s with a new Run", before["a"], now)
	}
	return nil
}

// named tells whether all pods have what identifies them.
func (v *visit) named() error {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	for name, pod := range v.run.pods {
		if pod.Namespace == "" || pod.Name == "" || pod.UID == "" {
			return fmt.Errorf("pod %s came as namespace %q, name %q, UID %q", name, pod.Namespace, pod.Name, pod.UID)
		}
	}
	if len(v.run.pods) == 2 && v.run.pods["a"].UID == v.run.pods["b"].UID {
		return fmt.Errorf("two pods have one UID, %s", v.run.pods["a"].UID)
	}
	return nil
}

func checkHandedOver(ctx context.Context, v *visit) error {
	v.start(ctx)
	for _, pods := range slices.Concat(history, history) {
		if err := v.write(pods...); err != nil {
			return err
		}
		if err := v.untilPods(pods...); err != nil {
			return err
		}
	}
	return v.stop() // compares
}

// afterRun is how long deliver is watched after Run has returned.
const afterRun = 100 * time.Millisecond

func checkStop(ctx context.Context, v *visit) error {
	if err := v.write("a"); err != nil {
		return err
	}
	v.start(ctx)
	if err := v.stop(); err != nil { // before the first word, or in it
		return err
	}
	v.start(ctx)
	if err := v.untilPods("a"); err != nil {
		return err
	}
	r := v.run
	if err := v.stop(); err != nil {
		return err
	}
	if err := v.write("b"); err != nil {
		return err
	}
	// A source that goes on has the time to say so.
	moment := time.NewTimer(afterRun)
	<-moment.C
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.breaches...)
}

func checkAgain(ctx context.Context, v *visit) error {
	if err := v.write("a", "b"); err != nil {
		return err
	}
	for range 3 {
		v.start(ctx)
		if err := errors.Join(v.untilPods("a", "b"), v.stop()); err != nil {
			return err
		}
	}
	return nil
}

func checkSilence(ctx context.Context, v *visit) error {
	world, ok := v.world.(Breaker)
	if !ok {
		return errNoWay
	}
	if err := v.startWith(ctx, "a", "b"); err != nil {
		return err
	}
	if err := world.Break(); err != nil {
		return fmt.Errorf("the world can't be broken: %w", err)
	}
	if err := v.until("an error", func(r *run) bool { return r.err != nil }); err != nil {
		return err
	}
	if err := v.untilPods("a", "b"); err != nil {
		return fmt.Errorf("what was said last did not stay: %w", err)
	}
	if err := world.Mend(); err != nil {
		return fmt.Errorf("the world can't be mended: %w", err)
	}
	if err := v.write("b", "c"); err != nil {
		return err
	}
	if err := v.untilPods("b", "c"); err != nil {
		return fmt.Errorf("after the world was mended: %w", err)
	}
	return v.until("a source that is well", func(r *run) bool { return r.err == nil })
}

func checkOneBad(ctx context.Context, v *visit) error {
	world, ok := v.world.(Spoiler)
	if !ok {
		return errNoWay
	}
	if err := v.startWith(ctx, "a", "b"); err != nil {
		return err
	}
	if err := world.Spoil("b"); err != nil {
		return fmt.Errorf("the manifest can't be spoiled: %w", err)
	}
	var bad *podmanager.ManifestError
	if err := v.until("a *ManifestError", func(r *run) bool { return errors.As(r.err, &bad) }); err != nil {
		return err
	}
	if !bad.Kept {
		return fmt.Errorf("the error does not say that the last good version stays: %w", bad)
	}
	if err := v.untilPods("a", "b"); err != nil {
		return fmt.Errorf("the last good version did not stay: %w", err)
	}
	if err := v.write("a", "b 2"); err != nil {
		return err
	}
	if err := v.untilPods("a", "b 2"); err != nil {
		return fmt.Errorf("after the manifest was mended: %w", err)
	}
	return v.until("a source that is well", func(r *run) bool { return r.err == nil })
}
