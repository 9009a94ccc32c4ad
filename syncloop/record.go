package syncloop

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// record is all that the loop knows of one pod. The loop's goroutine owns it;
// maps in it are replaced, never written to, for workers read them.
type record struct {
	runtime.PodRef
	// pod is the newest version; nil while only the runtime knows the pod.
	pod    *v1.Pod
	source string
	added  time.Time

	life     lifecycle.State
	admitted bool
	// entered: it is in the ledger.
	entered bool
	// stuck: it is being stopped, and preemption does not count on that any more.
	stuck bool
	// size is what it was granted of what it asks for.
	size size
	// takes is what the store remembers of that.
	takes *Takes
	// wait is set while it waits to be let in.
	wait *admissionWait
	// refused is set for a pod that was never let in, for good.
	refused *podstatus.Verdict
	// volatile: what befell it is not to be remembered after a restart.
	volatile bool

	// past is what the store remembered of an earlier run of the agent.
	past *Record
	// listed is what the last list said of it, zero when it was not in it.
	listed runtime.ListedPod

	status  *v1.PodStatus
	version uint64
	// said: this agent has sent a status of it. What an earlier one knew may
	// not have arrived.
	said     bool
	observed *runtime.PodStatus
	// failures are the last failed starts by container.
	failures map[string]runtime.StartResult
	// verdicts are those of probes; probed: somebody probes it.
	verdicts *verdicts
	probed   bool
	lastErr  error

	// cancel ends the context of the work in force, nil while that waits for its
	// turn; workSince is when it was asked for, zero when idle.
	cancel    context.CancelFunc
	workSince time.Time
	// read and done are the moments of the last read that the loop heard of,
	// and of the end of the last work.
	read, done uint64
	// pastDeadline: the timer of its active deadline went off.
	pastDeadline bool
	// worked and ran: the hooks for its first work and for its start were called.
	worked, ran bool
	// shown is where readers see it, nil before that.
	shown *published
	// unlisted: it is among the loop's unlisted. forgotten: it is none of the loop's
	// pods any more, and whatever comes back for it is too late.
	unlisted, forgotten bool
}

// admissionWait says why a pod is not let in yet.
type admissionWait struct {
	since   time.Time
	at      time.Time
	reason  string
	message string
}

func newRecord(ref runtime.PodRef, now time.Time) *record {
	return &record{PodRef: ref, added: now, life: lifecycle.State{UID: ref.UID}}
}

// fullName is the name under which static pods follow each other.
func (r *record) fullName() string { return r.Name + "_" + r.Namespace }

// began tells whether the pod's life has begun; before, and for a pod that was
// refused, there is nothing to stop.
func (r *record) began() bool { return r.life.Stage != "" }

// over tells whether there is nothing left to do for the pod.
func (r *record) over() bool {
	return r.life.Stage == lifecycle.Finished && r.life.Work == "" && !r.life.Discard
}

// inForce tells whether the work of that number is what is to be done for the pod.
func (r *record) inForce(seq uint64) bool { return r.life.Work != "" && r.life.Seq == seq }

// verdict is the sentence on the pod, if there is one.
func (r *record) verdict() *podstatus.Verdict {
	if r.refused != nil {
		return r.refused
	}
	return r.life.Verdict
}

// mayRun tells whether a container of the pod may run.
func (r *record) mayRun() bool {
	return r.began() && !lifecycle.KnownTerminated(&r.life)
}

// input is what a status of the pod is made of, as far as the loop knows.
func (l *SyncLoop) input(r *record) podstatus.Input {
	return podstatus.Input{
		Pod:           r.allocated(),
		Resize:        r.size.conditions(),
		API:           l.apiStatus(r.pod),
		Previous:      r.status,
		Observed:      r.observed,
		RuntimeName:   l.cfg.RuntimeName,
		StartFailures: r.failures,
		Readiness:     l.probing(r, probe.Readiness),
		Startup:       l.probing(r, probe.Startup),
		AgentStarted:  l.started,
		Verdict:       r.verdict(),
		HostIPs:       l.cfg.HostIPs,
		Now:           time.Now(),
	}
}

// apiStatus is the status that the API server has: that of the mirror for a
// static pod, nil for the pod's own.
func (l *SyncLoop) apiStatus(pod *v1.Pod) *v1.PodStatus {
	if mirror := l.mirrorOf(pod); mirror != nil {
		return &mirror.Status
	}
	return nil
}

// probing is what is known of one kind of probe. The workers follow from the spec
// alone, so that they are complete before a container's first status; plain init
// containers have none.
func (l *SyncLoop) probing(r *record, kind probe.Kind) podstatus.Probing {
	if l.cfg.Probes == nil || r.pod == nil {
		return podstatus.Probing{}
	}
	return podstatus.Probing{Workers: probed(r.pod, kind), Results: r.verdicts.of(kind)}
}

// probed names the containers that have a probe of a kind.
func probed(pod *v1.Pod, kind probe.Kind) map[string]bool {
	var names map[string]bool
	add := func(c *v1.Container) {
		if kind == probe.Readiness && c.ReadinessProbe == nil || kind == probe.Startup && c.StartupProbe == nil {
			return
		}
		if names == nil {
			names = map[string]bool{}
		}
		names[c.Name] = true
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; runtime.IsSidecar(c) {
			add(c)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return names
}

// remember is the record of a wanted pod for the store; false if nothing of the
// pod is to be kept.
func (r *record) remember() (Record, bool) {
	if r.volatile {
		return Record{}, false
	}
	return Record{
		UID: r.UID, Namespace: r.Namespace, Name: r.Name, Source: r.source,
		Admitted:         r.admitted,
		Allocated:        r.size.allocation,
		Takes:            r.takes,
		Verdict:          r.verdict(),
		TerminatingSince: r.life.TerminatingSince,
		Grace:            r.life.Grace,
		Status:           r.status,
		Version:          r.version,
	}, true
}

func isStatic(pod *v1.Pod) bool { return podmanager.IsStatic(pod) && !podmanager.IsMirror(pod) }
