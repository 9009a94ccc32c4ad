package probe

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// State is what is known of the container instance that a probe is about.
type State struct {
	// ContainerID as the runtime gave it; empty while there is no instance,
	// or nothing is known of it: probing then waits. Each start of a container
	// has an ID of its own: by that a new instance is told from the one before.
	ContainerID string
	// Running tells that it runs. One that does not has failed its probes.
	Running bool
	// StartedAt is when it started; the initial delay counts from there. Zero
	// counts from when the Tracker first hears that it runs.
	StartedAt time.Time
	// Started opens the gate for liveness and readiness, and ends the work of
	// a startup probe. Ready is the other thing that the last status said of
	// this very instance. When the first instance that a Tracker hears of has
	// started, or is ready, an earlier agent found that out: it holds until
	// probes say otherwise.
	Started, Ready bool
	// Terminating tells that its pod is being stopped: readiness goes on
	// being probed, liveness and startup end.
	Terminating bool
	// Over tells that the container will not run again.
	Over bool
	// NoAddress tells that the probe needs an address, and there is none.
	NoAddress bool
}

// Attempt is what one attempt of a probe came to: a Response, or an error if the
// container could not be asked.
type Attempt struct {
	Response
	Err error
}

// Step is what follows from one call of a [Tracker].
type Step struct {
	// Published tells that a verdict was published, be it the same as before.
	Published bool
	// Changed tells that whoever goes by the published verdicts must hear of
	// it. What follows from the state of the container alone, such as that
	// one which does not run is not ready, is no news to who gave the state.
	Changed bool
	// Event is what users are to be told, if anything.
	Event *runtime.Event
}

// Tracker is one probe over time, as plain data: what is known of the container
// and what attempts came to go in; the published verdict and the time of the
// next attempt come out. It does nothing by itself and knows no clock.
//
//	            Look(now, state)         Record(now, attempt)
//	                  │                          │
//	no instance ──▶ waits ──▶ due at ──▶ attempt ──▶ due a period later
//	                  ▲                          └──▶ on hold, until the next instance
//
// A new instance starts anew, with the initial verdict: Success for liveness,
// Failure for readiness, Unknown otherwise. The rules are the kubelet's, save
// that failures are not carried on to the next instance, and that an error of a
// startup probe is a failure, so that it comes to an end.
//
// A Tracker is not safe for concurrent use.
type Tracker struct {
	id       string
	next     time.Time // counts from the start of the instance; zero until it was seen to run
	settings Settings
	spread   float32
	streak   int32
	kind     kindCode
	verdict  verdictCode
	said     verdictCode
	wait     Wait
	good     bool // the streak is one of successes
	hold     bool
	fresh    bool // no attempt yet, of an instance that was seen to start
	// believed: its status calls it ready, which is not what was published.
	believed bool
}

// NewTracker returns the tracker of a probe. Spread sets its schedule off from
// that of others, by a share of the period: 0 is not at all, just below 1 the
// most.
func NewTracker(kind Kind, settings Settings, spread float64) Tracker {
	t := Tracker{kind: codeOf(kind), wait: WaitContainer, spread: float32(min(max(spread, 0), 1))}
	t.SetSettings(settings)
	t.verdict = t.initial()
	t.said = t.verdict
	return t
}

// SetSettings changes the settings of a probe while it is in use. What was found
// out so far stays; the next attempt is due by the new ones.
func (t *Tracker) SetSettings(s Settings) {
	s = s.withDefaults()
	switch {
	case t.next.IsZero():
	case t.fresh:
		t.next = t.next.Add(s.InitialDelay - t.settings.InitialDelay)
	default:
		t.next = t.next.Add(s.Period - t.settings.Period)
	}
	t.settings = s
}

// Verdict is what the probe says of the instance now; that of an instance which
// does not run is Failure.
func (t *Tracker) Verdict() runtime.Verdict { return t.verdict.verdict() }

// Due is when the next attempt is to begin; zero while the probe waits for
// something else than its time.
func (t *Tracker) Due() time.Time {
	if t.wait != WaitNothing {
		return time.Time{}
	}
	return t.next
}

// Wait says what the probe waits for.
func (t *Tracker) Wait() Wait { return t.wait }

// Streak is how many attempts in a row came to the same.
func (t *Tracker) Streak() int { return int(t.streak) }

// Done tells that the probe has ended, unless its container comes back.
func (t *Tracker) Done() bool { return t.wait == WaitEnded }

// ContainerID is the instance that the verdict is about.
func (t *Tracker) ContainerID() string { return t.id }

// Look takes what is known of the container.
func (t *Tracker) Look(now time.Time, s State) Step {
	var step Step
	if s.ContainerID != "" && s.ContainerID != t.id {
		step = t.adopt(s)
	}
	if s.Running && t.next.IsZero() {
		t.verdict = t.said
		t.plan(now, s.StartedAt)
	}
	if t.kind == readiness && s.Ready && t.said != success {
		// If attempts have found otherwise, nobody was told: it was no news then.
		if t.believed = !t.failed(); !t.believed {
			step.Published, step.Changed = true, true
		}
	}
	wait := t.judge(s, &step)
	if wait == WaitNothing && t.wait != WaitNothing && t.next.Before(now) {
		t.next = now
	}
	t.wait = wait
	return step
}

// judge says what the probe waits for, and what follows from the state alone.
func (t *Tracker) judge(s State, step *Step) Wait {
	switch {
	case s.ContainerID == "" && s.Over:
		return WaitEnded
	case s.ContainerID == "":
		return WaitContainer
	case t.hold:
		return WaitInstance
	case !s.Running:
		t.verdict, step.Published = t.notRunning(), true
		if s.Over {
			return WaitEnded
		}
		return WaitRunning
	case s.Terminating && (t.kind == liveness || t.kind == startup):
		t.verdict, step.Published = success, true
		return WaitEnded
	case t.kind == startup && s.Started:
		return WaitInstance
	case (t.kind == liveness || t.kind == readiness) && !s.Started:
		return WaitStarted
	case s.NoAddress:
		return WaitAddress
	}
	return WaitNothing
}

// adopt begins anew with another instance.
func (t *Tracker) adopt(s State) Step {
	first := t.id == ""
	t.id, t.streak, t.good, t.hold, t.believed = s.ContainerID, 0, false, false, false
	t.verdict = t.initial()
	t.said = t.verdict
	t.next = time.Time{}
	known := t.kind == startup && s.Started || t.kind == readiness && s.Ready
	if !first || !known || !s.Running {
		return Step{}
	}
	t.verdict, t.said = success, success
	return Step{Published: true, Changed: true}
}

// plan sets the time of the first attempt: at once after the delay for an
// instance that was seen to start, and spread over a period for those that an
// agent finds when it comes. An instance that is to start in the future, because
// the clock was set back, starts now, and the schedule goes on by the clock that
// nobody sets.
func (t *Tracker) plan(now, started time.Time) {
	spread := time.Duration(float64(t.spread) * float64(t.settings.Period))
	if started.IsZero() {
		t.next, t.fresh = now.Add(t.settings.InitialDelay+spread), false
		return
	}
	t.next = now.Add(t.settings.InitialDelay - max(now.Sub(started), 0))
	t.fresh = now.Sub(t.next) < t.settings.Period
	if !t.fresh {
		t.next = now.Add(spread)
	}
}

// Record takes what an attempt came to and sets the time of the next one.
func (t *Tracker) Record(now time.Time, a Attempt) Step {
	t.proceed(now)
	step := Step{Event: t.event(a)}
	result := success
	switch {
	case a.Err != nil && t.kind == observe:
		t.streak = 0
		return t.publish(unknown, step)
	case a.Err != nil && t.kind != startup:
		return step
	case a.Err != nil || a.Result != Success && a.Result != Warning:
		result = failure
	}
	if good := result == success; good == t.good && t.streak > 0 {
		t.streak = min(t.streak, 1<<30) + 1
	} else {
		t.good, t.streak = good, 1
	}
	threshold := t.settings.FailureThreshold
	if t.good {
		threshold = t.settings.SuccessThreshold
	}
	if t.streak < threshold {
		return step
	}
	if t.kind == startup || t.kind == liveness && result == failure {
		t.hold, t.streak, t.wait = true, 0, WaitInstance
	}
	return t.publish(result, step)
}

// failed tells whether the attempts so far make a failure.
func (t *Tracker) failed() bool {
	return !t.good && t.streak >= t.settings.FailureThreshold
}

func (t *Tracker) publish(v verdictCode, step Step) Step {
	step.Published, step.Changed = true, v != t.said || t.believed
	t.verdict, t.said, t.believed = v, v, false
	return step
}

// proceed sets the next attempt a period after the one that was due; those that
// were missed meanwhile are left out. The second attempt of a fresh instance goes
// to the probe's own place in the period, for many start together.
func (t *Tracker) proceed(now time.Time) {
	period := t.settings.Period
	interval := period
	if t.fresh && t.spread > 0 {
		interval = period/2 + time.Duration(float64(t.spread)*float64(period))
	}
	t.fresh = false
	t.next = t.next.Add(interval)
	if late := now.Sub(t.next); late >= 0 {
		t.next = t.next.Add(period * (late/period + 1))
	}
}

// event is what users are told of an attempt, in the kubelet's words. A probe
// that only observes tells nobody but its host.
func (t *Tracker) event(a Attempt) *runtime.Event {
	name := t.kind.title()
	switch {
	case t.kind == observe:
		return nil
	case a.Err != nil:
		result := a.Result
		if result == "" {
			result = Unknown
		}
		return warning("Unhealthy", fmt.Sprintf("%s probe errored and resulted in %s state: %s", name, result, Printable(a.Err.Error())))
	case a.Result == Warning:
		return warning("ProbeWarning", fmt.Sprintf("%s probe warning: %s", name, Printable(a.Output)))
	case a.Result == Failure:
		return warning("Unhealthy", fmt.Sprintf("%s probe failed: %s", name, Printable(a.Output)))
	}
	return nil
}

func warning(reason, message string) *runtime.Event {
	return &runtime.Event{Type: v1.EventTypeWarning, Reason: reason, Message: message}
}

func (t *Tracker) initial() verdictCode {
	switch t.kind {
	case liveness:
		return success
	case readiness:
		return failure
	}
	return unknown
}

func (t *Tracker) notRunning() verdictCode {
	if t.kind == observe {
		return unknown
	}
	return failure
}
