package syncloop

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// Probes probes the containers of pods. A *[probe.Manager] is one as it is; the
// host runs it; package synclooptest has a suite for others. The loop's goroutine calls
// the methods: they must not block, and must not call the loop.
type Probes interface {
	// Set says which containers of a pod are to be probed, and what is known
	// of each, in the place of what was said of the pod before. An instance that
	// has started, or is ready, when it is first heard of was found so by an
	// earlier agent: that holds until its probes say otherwise.
	Set(ref runtime.PodRef, containers ...probe.Container)
	// Remove forgets a pod.
	Remove(uid types.UID)
	// Changed has a value when there are verdicts to take, and perhaps one too
	// many. The channel is always the same one, never closed, and the loop is its
	// only reader: a host that wants verdicts too reads the statuses.
	Changed() <-chan struct{}
	// Take returns the verdicts that changed since the last call. What an
	// instance begins with is no change: it counts as not ready, not started
	// and alive until a verdict says otherwise.
	Take() []probe.Published
}

// ProbeReporter is a [Probes] that can tell how it does: Health and Explain show
// it then. A *[probe.Manager] is one. The methods may be called at any time.
type ProbeReporter interface {
	Stats() probe.Stats
	Explain(uid types.UID) []probe.Explanation
}

var _ interface {
	Probes
	ProbeReporter
} = (*probe.Manager)(nil)

// verdicts are what the probes of a pod said last. They are replaced, never
// written to, for workers read them. Nil is those of a pod of which none spoke.
type verdicts struct {
	// results are by kind and container ID; instances tells which ID a
	// container has there, for the verdict on one replaces that on the last.
	results   map[probe.Kind]map[string]runtime.Verdict
	instances map[verdictOn]string
}

type verdictOn struct {
	kind      probe.Kind
	container string
}

func (v *verdicts) of(kind probe.Kind) map[string]runtime.Verdict {
	if v == nil {
		return nil
	}
	return v.results[kind]
}

// with returns the verdicts with one more, and whether it is news.
func (v *verdicts) with(p probe.Published) (*verdicts, bool) {
	if old, known := v.of(p.Kind)[p.ContainerID]; known && old == p.Verdict {
		return v, false
	}
	next := &verdicts{results: map[probe.Kind]map[string]runtime.Verdict{}, instances: map[verdictOn]string{}}
	if v != nil {
		maps.Copy(next.results, v.results)
		maps.Copy(next.instances, v.instances)
	}
	on := verdictOn{p.Kind, p.Container}
	results := map[string]runtime.Verdict{}
	maps.Copy(results, next.results[p.Kind])
	delete(results, next.instances[on])
	results[p.ContainerID] = p.Verdict
	next.results[p.Kind], next.instances[on] = results, p.ContainerID
	return next, true
}

// tellProbes says what is known of the pod's containers to whoever probes them,
// from the beginning of its life until nothing of it runs.
func (l *SyncLoop) tellProbes(r *record) {
	if l.cfg.Probes == nil {
		return
	}
	var set []probe.Container
	if r.pod != nil && (r.life.Stage == lifecycle.Sync || r.life.Stage == lifecycle.Terminating) {
		set = probe.PodContainers(r.pod, r.status)
	}
	for i := range set {
		// Whatever the reason of its end is: its source need not know of it.
		set[i].State.Terminating = r.life.TerminationRequested()
	}
	switch {
	case len(set) > 0:
		l.cfg.Probes.Set(r.PodRef, set...)
	case r.probed:
		l.cfg.Probes.Remove(r.UID)
	}
	r.probed = len(set) > 0
}

// HandleProbeResults takes the verdicts that changed. What they mean for readiness
// is said at once, whatever a worker is busy with; a liveness that failed and the
// end of a startup have the pod synced.
func (l *SyncLoop) HandleProbeResults(context.Context) {
	if l.cfg.Probes == nil {
		return
	}
	for _, p := range l.cfg.Probes.Take() {
		r := l.pods[p.Pod.UID]
		if r == nil || !r.began() || p.Kind == probe.Observe {
			continue
		}
		next, news := r.verdicts.with(p)
		if !news {
			continue
		}
		r.verdicts = next
		if p.Kind != probe.Liveness {
			l.resay(r)
		}
		if p.Kind == probe.Startup || p.Kind == probe.Liveness && p.Verdict == runtime.VerdictFailure {
			l.step(r, lifecycle.Poke{})
		}
	}
}

// resay says what is known of a pod that runs in the light of new verdicts. An end
// is for the work on the pod to find.
func (l *SyncLoop) resay(r *record) {
	if r.observed == nil || r.status == nil || !r.said {
		return
	}
	in := l.input(r)
	in.RestartAll = runtime.RestartAllTriggered(r.pod, r.observed)
	res := podstatus.Compute(in)
	if res.Changed && !res.Terminal && res.Verdict == in.Verdict {
		l.setStatus(r, &res.Status)
	}
}

// probeLimit is how late a probe may be.
const probeLimit = 5 * time.Second

// probeHealth tells how late probes are; false if nobody knows.
func (l *SyncLoop) probeHealth(now time.Time) (HealthCheck, bool) {
	reporter, ok := l.cfg.Probes.(ProbeReporter)
	if !ok {
		return HealthCheck{}, false
	}
	s := reporter.Stats()
	c := HealthCheck{Name: "probes", OK: s.Late < probeLimit, Limit: metav1.Duration{Duration: probeLimit}}
	c.Detail = fmt.Sprintf("%s of %s, %d in flight", count(s.Probes, "probe", "probes"), count(s.Pods, "pod", "pods"), s.InFlight)
	switch {
	case s.Waiting == 0:
		c.Detail += ", none waits"
	case s.Late == 0:
		c.Detail += "; " + count(s.Waiting, "waits", "wait") + " behind others of the same pod"
	default:
		c.Since = now.Add(-s.Late)
		c.Detail += fmt.Sprintf("; %s, the oldest for %s",
			count(s.Waiting, "waits for its turn", "wait for their turn"), s.Late.Round(time.Millisecond))
	}
	return c, true
}
