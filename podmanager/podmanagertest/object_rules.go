package podmanagertest

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func checkGet(ctx context.Context, v *objectVisit) error {
	if err := errors.Join(v.put("a", "1"), v.put("b", "2")); err != nil {
		return err
	}
	if err := errors.Join(v.untilReads(ctx, "a", "1"), v.untilReads(ctx, "b", "2")); err != nil {
		return err
	}
	if err := v.put("a", "3"); err != nil {
		return err
	}
	return errors.Join(v.untilReads(ctx, "a", "3"), v.untilReads(ctx, "b", "2"))
}

func checkNotFound(ctx context.Context, v *objectVisit) error {
	if err := errors.Join(v.put("a", "1"), v.world.Put(v.object("elsewhere", "b", "1"))); err != nil {
		return err
	}
	if err := v.untilReads(ctx, "a", "1"); err != nil {
		return err
	}
	object, err := v.world.Source().Get(ctx, suiteNamespace, "b")
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("an object of another namespace alone reads as %v, error %w", object, err)
	}
	if err := v.world.Delete(v.ref("a")); err != nil {
		return err
	}
	return v.untilReads(ctx, "a", "")
}

func checkWatchSet(ctx context.Context, v *objectVisit) error {
	err := errors.Join(v.put("a", "1"), v.put("b", "2"), v.world.Put(v.object("elsewhere", "a", "9")))
	if err == nil {
		err = errors.Join(v.untilReads(ctx, "a", "1"), v.untilReads(ctx, "b", "2"))
	}
	if err != nil {
		return err
	}
	if err := v.eachWatch(ctx, "a", func(f *follower) error {
		return f.untilHas(map[string]string{"a": "1", "b": "2"})
	}); err != nil {
		return err
	}
	return v.eachWatch(ctx, "none", func(f *follower) error {
		return f.untilHas(map[string]string{"none": ""})
	})
}

func checkWatchChanges(ctx context.Context, v *objectVisit) error {
	return v.eachWatch(ctx, "a", func(f *follower) error {
		if err := f.untilHas(nil); err != nil {
			return err
		}
		for _, step := range []struct{ name, value string }{
			{"a", "1"}, {"b", "1"}, {"a", "2"}, {"a", ""}, {"b", "2"}, {"a", "3"}, {"b", ""}, {"a", ""},
		} {
			var err error
			if step.value == "" {
				err = v.world.Delete(v.ref(step.name))
			} else {
				err = errors.Join(v.put(step.name, step.value), v.world.Put(v.object("elsewhere", step.name, "9")))
			}
			if err == nil {
				err = f.untilHas(map[string]string{step.name: step.value})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func checkWatchStop(ctx context.Context, v *objectVisit) error {
	if err := v.put("a", "1"); err != nil {
		return err
	}
	var watches []*follower
	err := v.eachWatch(ctx, "a", func(f *follower) error {
		watches = append(watches, f)
		return nil
	})
	if err == nil {
		err = v.put("a", "2")
	}
	if err == nil {
		err = v.untilReads(ctx, "a", "2")
	}
	for _, f := range watches {
		f.mu.Lock()
		err = errors.Join(err, f.breach)
		f.mu.Unlock()
	}
	return err
}

func checkObjectSilence(ctx context.Context, v *objectVisit) error {
	world, ok := v.world.(Breaker)
	if !ok {
		return errNoWay
	}
	if err := v.put("a", "1"); err != nil {
		return err
	}
	return v.eachWatch(ctx, "a", func(f *follower) error {
		if err := f.untilHas(map[string]string{"a": "1"}); err != nil {
			return err
		}
		if err := world.Break(); err != nil {
			return fmt.Errorf("the world can't be broken: %w", err)
		}
		err := f.until("an error", func() bool { return f.err != nil })
		if err == nil {
			err = f.untilHas(map[string]string{"a": "1"})
		}
		if mended := world.Mend(); err == nil && mended != nil {
			return fmt.Errorf("the world can't be mended: %w", mended)
		}
		return err
	})
}
