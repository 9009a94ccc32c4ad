package podmanagertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// visit is the suite at a world: it runs sources, one at a time, and keeps
// account of what they say.
type visit struct {
	world    World
	patience time.Duration
	run      *run
}

// run is one Run of a source.
type run struct {
	cancel  context.CancelFunc
	ended   chan error
	changed chan struct{}

	mu       sync.Mutex
	pods     map[string]*v1.Pod // what the source wants, by labelName
	err      error              // what it says is wrong
	firstOp  podmanager.Op
	given    []gift
	inside   bool // deliver is being called
	over     bool // Run has returned
	breaches []error
}

// gift is a pod that was handed over, and what it was then.
type gift struct{ pod, was *v1.Pod }

// write makes "name" or "name version" the pods of the world.
func (v *visit) write(pods ...string) error {
	var list []*v1.Pod
	for _, p := range pods {
		name, version, _ := strings.Cut(p, " ")
		list = append(list, suitePod(name, version))
	}
	written := make(chan error, 1)
	go func() { written <- v.world.Write(list) }()
	limit := time.NewTimer(v.patience)
	defer limit.Stop()
	select {
	case err := <-written:
		if err != nil {
			return fmt.Errorf("the world can't be written: %w", err)
		}
		return nil
	case <-limit.C:
		return fmt.Errorf("the world's Write has not returned after %s", v.patience)
	}
}

// startWith starts a source over a world of these pods, until it has said them.
func (v *visit) startWith(ctx context.Context, pods ...string) error {
	if err := v.write(pods...); err != nil {
		return err
	}
	v.start(ctx)
	return v.untilPods(pods...)
}

func (v *visit) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{cancel: cancel, ended: make(chan error, 1), changed: make(chan struct{}, 1), pods: map[string]*v1.Pod{}}
	v.run = r
	source := v.world.Source()
	go func() {
		err := source.Run(ctx, r.deliver)
		r.mu.Lock()
		r.over = true
		r.mu.Unlock()
		r.ended <- err
	}()
}

// stop ends the run, if there is one, and says what it did wrong.
func (v *visit) stop() error {
	r := v.run
	if r == nil {
		return nil
	}
	v.run = nil
	r.cancel()
	limit := time.NewTimer(v.patience)
	defer limit.Stop()
	select {
	case err := <-r.ended:
		if err != nil {
			r.breach("Run returned an error when its context ended: %v", err)
		}
	case <-limit.C:
		return fmt.Errorf("Run has not returned %s after its context ended", v.patience)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.given {
		if !reflect.DeepEqual(g.pod, g.was) {
			return fmt.Errorf("pod %s was written to after it was handed over", g.was.Name)
		}
	}
	return errors.Join(r.breaches...)
}

// deliver is what the source calls.
func (r *run) deliver(report podmanager.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		r.breaches = append(r.breaches, errors.New("deliver was called after Run had returned"))
	}
	if r.inside {
		r.breaches = append(r.breaches, errors.New("deliver was called while it was being called"))
	}
	r.inside = true
	r.mu.Unlock()
	// Give a second caller the time to show itself.
	moment := time.NewTimer(time.Millisecond)
	<-moment.C
	r.mu.Lock()
	r.inside = false
	r.take(report)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *run) take(report podmanager.Report) {
	r.err = report.Err
	if report.Op == "" {
		return
	}
	if r.firstOp == "" && report.Op != podmanager.OpRestore {
		r.firstOp = report.Op
	}
	switch report.Op {
	case podmanager.OpSet:
		clear(r.pods)
	case podmanager.OpAdd, podmanager.OpUpdate, podmanager.OpRemove, podmanager.OpRestore:
	default:
		r.breaches = append(r.breaches, fmt.Errorf("a source does not say %q", report.Op))
	}
	for _, pod := range report.Pods {
		if pod == nil {
			r.breaches = append(r.breaches, errors.New("a pod is nil"))
			continue
		}
		r.given = append(r.given, gift{pod, pod.DeepCopy()})
		if report.Op == podmanager.OpRemove {
			maps.DeleteFunc(r.pods, func(_ string, p *v1.Pod) bool { return p.UID == pod.UID })
		} else {
			r.pods[pod.Labels[labelName]] = pod
		}
	}
}

func (r *run) breach(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.breaches = append(r.breaches, fmt.Errorf(format, args...))
}

// until waits for a state of the run.
func (v *visit) until(what string, state func(r *run) bool) error {
	r := v.run
	limit := time.NewTimer(v.patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		ok, now := state(r), r.describe()
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-r.changed:
		case err := <-r.ended:
			r.ended <- err
			return fmt.Errorf("Run returned (%v) before there was %s; there is %s", err, what, now)
		case <-limit.C:
			return fmt.Errorf("after %s there is not %s but %s", v.patience, what, now)
		}
	}
}

// untilPods waits until the source wants exactly these pods.
func (v *visit) untilPods(pods ...string) error {
	return v.until(fmt.Sprint("the list ", pods), func(r *run) bool {
		return r.firstOp != "" && slices.Equal(r.names(), slices.Sorted(slices.Values(pods)))
	})
}

// names are the pods as write takes them, sorted.
func (r *run) names() []string {
	var names []string
	for name, pod := range r.pods {
		names = append(names, strings.TrimSpace(name+" "+pod.Labels[labelVersion]))
	}
	return slices.Sorted(slices.Values(names))
}

func (r *run) describe() string {
	if r.firstOp == "" {
		return fmt.Sprintf("no word yet (error: %v)", r.err)
	}
	return fmt.Sprintf("%v (error: %v)", r.names(), r.err)
}

func (v *visit) uids() map[string]types.UID {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	uids := map[string]types.UID{}
	for name, pod := range v.run.pods {
		uids[name] = pod.UID
	}
	return uids
}
