package syncloop

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// job is one piece of work on one pod, with all that the worker needs of it. It
// is a copy: the worker shares nothing with the loop.
type job struct {
	loop *SyncLoop
	// record is for the loop alone: a worker never looks into it.
	record *record
	ref    runtime.PodRef
	work   lifecycle.Work
	seq    uint64
	// input holds the pod and what its status is made of, verdicts what its
	// probes had said when the work began.
	input    podstatus.Input
	verdicts *verdicts
	grace    time.Duration
	deadline time.Time
	// desired is the pod as its source has it.
	desired *v1.Pod
	// resizing is the condition of the resize in progress when the work began.
	resizing *v1.PodCondition

	outcome outcome
}

// outcome is what the loop learns from a job.
type outcome struct {
	lifecycle.Done
	failures map[string]runtime.StartResult
	// read is the moment before the last status was read.
	read uint64
	took time.Duration
	// resized: the containers have what the pod was granted. resizeFailed says
	// that they could not be given it.
	resized      bool
	resizeFailed *v1.PodCondition
}

// startWork has a piece of work done as soon as there is room for it. All that the
// work needs is gathered then: of the pods that wait there may be many.
func (l *SyncLoop) startWork(r *record, a lifecycle.Start) {
	now := time.Now()
	r.cancel, r.workSince = nil, now
	if a.Work == lifecycle.WorkSync {
		r.read = l.moment() // it begins with reading the pod
	}
	if !r.worked {
		r.worked = true
		if h := l.cfg.Hooks.PodFirstWork; h != nil {
			h(r.PodRef, now.Sub(r.added))
		}
	}
	l.workers.run(a.Work != lifecycle.WorkSync, func() func() { return l.beginWork(r, a) })
}

// beginWork returns what a worker is to do. Work that was overtaken while it waited is
// cancelled from the beginning.
func (l *SyncLoop) beginWork(r *record, a lifecycle.Start) func() {
	ctx, cancel := context.WithCancel(l.workers.ctx)
	if r.inForce(a.Seq) {
		r.cancel = cancel
	} else {
		cancel()
	}
	j := l.idle.get()
	*j = job{
		loop: l, record: r, ref: r.PodRef, work: a.Work, seq: a.Seq,
		verdicts: r.verdicts,
		grace:    r.life.Grace,
		deadline: r.life.Deadline,
		desired:  r.pod,
		resizing: r.size.inProgress,
	}
	j.outcome.Seq = a.Seq
	j.outcome.failures = r.failures
	if r.pod != nil {
		j.input = l.input(r)
	}
	return func() {
		defer cancel()
		began := time.Now()
		j.outcome.Err = j.do(ctx)
		j.outcome.took = time.Since(began)
		l.inbox.post(func() {
			l.workDone(r, j)
			l.idle.put(j)
		})
	}
}

// idleJobs are jobs that came back. They are used again, for each is a tenth of what
// a pod's start takes of memory.
type idleJobs []*job

func (i *idleJobs) get() *job {
	if last := len(*i) - 1; last >= 0 {
		j := (*i)[last]
		*i = (*i)[:last]
		return j
	}
	return &job{}
}

func (i *idleJobs) put(j *job) {
	*j = job{} // nothing is kept alive by it
	if len(*i) < burst {
		*i = append(*i, j)
	}
}

func (j *job) do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch j.work {
	case lifecycle.WorkSync:
		return j.sync(ctx)
	case lifecycle.WorkTerminate:
		return j.terminate(ctx)
	case lifecycle.WorkCleanUp:
		return j.cleanUp(ctx)
	default:
		return j.remove(ctx)
	}
}

// workDone takes back what a worker did.
func (l *SyncLoop) workDone(r *record, j *job) {
	l.workers.done()
	if r.forgotten {
		return
	}
	inForce := r.inForce(j.seq)
	if inForce {
		r.cancel, r.workSince = nil, time.Time{}
		r.failures = j.outcome.failures
		r.lastErr = j.outcome.Err
		r.read = max(r.read, j.outcome.read)
		r.done = l.moment()
		l.resizeDone(r, j)
	}
	if h := l.cfg.Hooks.PodWork; h != nil {
		h(r.PodRef, j.work, j.outcome.took, j.outcome.Err)
	}
	if j.outcome.Err != nil && inForce {
		l.log.Error("work on a pod failed, it is tried again", "pod", r.PodRef.String(), "work", string(j.work), "err", j.outcome.Err)
	}
	l.step(r, j.outcome.Done)
}

// say computes the status and makes it known, through the loop, which drops it if
// the work is not in force any more: no older work says anything of a pod. Should its
// probes or its source have spoken meanwhile, the loop computes it anew.
func (j *job) say(compute func(podstatus.Input) podstatus.Result) *podstatus.Result {
	in, read, res := j.input, j.outcome.read, compute(j.input)
	if res.Changed {
		j.input.Previous = &res.Status
	}
	if res.Verdict != nil && j.input.Verdict == nil {
		j.input.Verdict = res.Verdict
		j.outcome.Verdict = res.Verdict
	}
	l := j.loop
	l.inbox.post(func() {
		r := j.record
		if r.forgotten || !r.inForce(j.seq) {
			return
		}
		r.observed, r.failures, r.read = in.Observed, in.StartFailures, max(r.read, read)
		if r.listed.UID == "" && !r.unlisted && len(in.Observed.Containers) > 0 {
			r.unlisted = true
			l.unlisted = append(l.unlisted, r.UID)
		}
		api := l.apiStatus(r.pod)
		if r.verdicts != j.verdicts || r.status != in.Previous || r.pod != j.desired || api != in.API {
			in.Pod, in.API, in.Previous = r.allocated(), api, r.status
			in.Readiness, in.Startup = l.probing(r, probe.Readiness), l.probing(r, probe.Startup)
			again := compute(in)
			l.tell(r, &again)
			return
		}
		l.tell(r, &res)
	})
	return &res
}

// tell makes known what was computed.
func (l *SyncLoop) tell(r *record, res *podstatus.Result) {
	for _, e := range res.Events {
		l.event(r.pod, e.Type, e.Reason, e.Message)
	}
	if res.Illegal != nil {
		l.log.Warn("the runtime says what can't be; of that container the last word stays", "pod", r.PodRef.String(), "err", res.Illegal)
	}
	if res.Changed || !r.said {
		l.setStatus(r, &res.Status)
	}
}

// observe reads the pod in the runtime.
func (j *job) observe(ctx context.Context) error {
	moment := j.loop.moment()
	status, err := j.loop.cfg.Runtime.PodStatus(ctx, j.ref.UID)
	if err != nil {
		return err
	}
	if status == nil {
		status = &runtime.PodStatus{PodRef: j.ref}
	}
	j.outcome.read = moment
	j.input.Observed = withAddresses(status, j.input.Previous)
	j.input.RestartAll = j.input.Pod != nil && runtime.RestartAllTriggered(j.input.Pod, status)
	j.input.Now = time.Now()
	return nil
}

// warn tells users of a failure, unless the work was cancelled.
func (j *job) warn(ctx context.Context, reason, format string, args ...any) {
	if ctx.Err() == nil {
		j.loop.event(j.input.Pod, v1.EventTypeWarning, reason, fmt.Sprintf(format, args...))
	}
}
