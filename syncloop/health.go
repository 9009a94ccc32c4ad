package syncloop

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// HealthCheck is how one part of a running loop does.
type HealthCheck struct {
	// Name of the part: loop, relist, source NAME, checkpoints, admission, workers,
	// probes, sink, store, and what Config.Parts call theirs.
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Since is when it last did well, or for a part that waits when that began;
	// zero for never.
	Since time.Time `json:"since,omitzero"`
	// Limit is how long that may be ago; zero where the error alone counts.
	Limit metav1.Duration `json:"limit,omitzero"`
	// Detail says in words what it does now.
	Detail string `json:"detail,omitempty"`
	// LastError is what went wrong last, empty once it went well.
	LastError string `json:"lastError,omitempty"`
}

// The limits of the checks.
const (
	// loopLimit is the kubelet's, for a resync interval of a minute.
	loopLimit = 5 * time.Minute
	// relistLimit is the kubelet's with a runtime that it polls; with one that
	// is watched a list may be two intervals old.
	relistLimit = 3 * time.Minute
	// workLimit is how long one piece of work may take beyond the time that a
	// stop was granted. (kubernetes/kubernetes#9895)
	workLimit = 5 * time.Minute
	sinkLimit = 5 * time.Minute
	// silentLimit is for how long one counts as silent that nobody asks any more.
	silentLimit = time.Minute
	// checkpointLimit is how long one write may take; the sources wait for it.
	checkpointLimit = 30 * time.Second
)

// Health tells how each part of the loop does, and those of Config.Parts. It does
// not wait for the loop, so that it works when the loop is stuck.
func (l *SyncLoop) Health() []HealthCheck {
	now, views := time.Now(), l.views.all()
	checks := []HealthCheck{l.loopHealth(now), l.relistHealth(now)}
	if c := l.cfg.PodConfig; c != nil {
		for _, s := range c.Status() {
			checks = append(checks, sourceHealth(s, now))
		}
		if s, ok := c.Checkpoints(); ok {
			checks = append(checks, checkpointHealth(s, now))
		}
	}
	if l.cfg.Admission != nil {
		checks = append(checks, l.admissionHealth(now, views))
	}
	checks = append(checks, l.workHealth(now, views))
	if c, ok := l.probeHealth(now); ok {
		checks = append(checks, c)
	}
	if l.cfg.Sink != nil {
		checks = append(checks, l.sink.health(now))
	}
	if l.cfg.Store != nil {
		checks = append(checks, l.store.health())
	}
	for _, p := range l.cfg.Parts {
		if p.Health != nil {
			checks = append(checks, p.health())
		}
	}
	return checks
}

// loopHealth goes by the steps: housekeeping alone makes one every other second.
func (l *SyncLoop) loopHealth(now time.Time) HealthCheck {
	at, busy := l.monitor.Last()
	c := HealthCheck{Name: "loop", Since: at, Limit: metav1.Duration{Duration: loopLimit}, Detail: "waits for the next event"}
	switch {
	case at.IsZero():
		c.OK, c.Detail = true, "has not made a step yet"
		return c
	case busy:
		c.Detail = "deals with an event"
		if pod := l.judging.Load(); pod != nil {
			c.Detail = "waits for what admission says of " + podmanager.FullName(pod)
		}
	}
	c.OK = now.Sub(at) < loopLimit
	return c
}

func (l *SyncLoop) relistHealth(now time.Time) HealthCheck {
	good, since, err := l.relister.trouble.read()
	limit := max(relistLimit, 2*l.relistInterval())
	c := HealthCheck{Name: "relist", Since: good, Limit: metav1.Duration{Duration: limit}}
	switch {
	case err != nil:
		c.LastError = err.Error()
		c.OK = now.Sub(later(good, since)) < limit
		c.Detail = "the runtime can't be listed since " + ago(since, now) + "; what is known of pods stays"
	case good.IsZero():
		c.OK, c.Detail = true, "the runtime was not listed yet"
	default:
		c.OK = now.Sub(good) < limit
		c.Detail = "the runtime was listed " + ago(good, now) + " ago"
	}
	return c
}

func sourceHealth(s podmanager.SourceStatus, now time.Time) HealthCheck {
	c := HealthCheck{Name: "source " + s.Name, Since: s.LastReport, OK: s.Err == nil && !s.Ended && s.Silent.IsZero()}
	c.Detail = "wants " + count(s.Pods, "pod", "pods")
	kept := count(s.Pods, "pod is", "pods are") + " kept from it"
	switch {
	case s.Ended:
		c.Detail = "has ended; " + kept
	case !s.Seen:
		c.Detail = "has not said what it wants yet"
		if s.Pods > 0 {
			c.Detail += "; " + count(s.Pods, "pod is", "pods are") + " restored from disk"
		}
	case s.Err != nil || !s.Silent.IsZero():
		c.Detail = kept
	}
	if s.Err != nil {
		c.LastError, c.Since = s.Err.Error(), s.Since
	}
	switch {
	case !s.Silent.IsZero():
		c.Detail += "; it says nothing since " + ago(s.Silent, now)
	case s.Err != nil && !s.LastReport.IsZero():
		c.Detail += "; its last word is " + ago(s.LastReport, now) + " old"
	}
	return c
}

// checkpointHealth tells of pods that are not on disk as they should be.
func checkpointHealth(s podmanager.CheckpointStatus, now time.Time) HealthCheck {
	c := HealthCheck{Name: "checkpoints", OK: s.Err == nil, Since: s.LastGood, Limit: metav1.Duration{Duration: checkpointLimit}}
	c.Detail = "what the sources want is on disk"
	switch {
	case !s.Busy.IsZero():
		c.OK = c.OK && now.Sub(s.Busy) < checkpointLimit
		c.Detail = "writes since " + ago(s.Busy, now)
	case s.Err != nil:
		c.Detail = "the next agent will know of changes only from the sources"
	}
	if s.Err != nil {
		c.LastError, c.Since = s.Err.Error(), s.Since
	}
	return c
}

// admissionHealth names what gives no answer to those that want to be let in.
func (l *SyncLoop) admissionHealth(now time.Time, views []*PodView) HealthCheck {
	waiting := 0
	for _, v := range views {
		if v.Waiting != "" {
			waiting++
		}
	}
	c := HealthCheck{Name: "admission", OK: true, Detail: count(waiting, "pod waits", "pods wait") + " to be let in"}
	for _, s := range l.cfg.Admission.Silent() {
		if now.Sub(s.Until) >= silentLimit {
			continue
		}
		if c.OK || s.Since.Before(c.Since) {
			c.Since = s.Since
		}
		c.OK = false
		c.Detail += "; " + s.Name + " has given no answer since " + ago(s.Since, now)
	}
	return c
}

// workHealth names the pod that a worker has been busy with for longest. A stop
// may take as long as it was granted.
func (l *SyncLoop) workHealth(now time.Time, views []*PodView) HealthCheck {
	c := HealthCheck{Name: "workers", OK: true, Limit: metav1.Duration{Duration: workLimit}}
	busy := 0
	var oldest *PodView
	for _, v := range views {
		if v.Work == "" || v.WorkSince.IsZero() {
			continue
		}
		busy++
		if now.Sub(v.WorkSince) >= workLimit && (v.Work != lifecycle.WorkTerminate || now.Sub(v.Deadline) >= workLimit) {
			c.OK = false
		}
		if oldest == nil || v.WorkSince.Before(oldest.WorkSince) {
			oldest = v
		}
	}
	if oldest == nil {
		c.Detail = "none is busy"
		return c
	}
	c.Since = oldest.WorkSince
	c.Detail = fmt.Sprintf("%d busy; the oldest %s %s since %s", busy, waitsFor(oldest.Work), oldest.PodRef, ago(oldest.WorkSince, now))
	if waits := l.doing(oldest.UID); len(waits) > 0 {
		c.Detail += ", waits for " + waits[0].What
	}
	if oldest.LastError != nil {
		c.LastError = oldest.LastError.Error()
	}
	return c
}

// waitsFor says what a worker waits for the runtime to do with a pod.
func waitsFor(w lifecycle.Work) string {
	switch w {
	case lifecycle.WorkSync:
		return "starts or checks"
	case lifecycle.WorkTerminate:
		return "stops"
	case lifecycle.WorkCleanUp:
		return "removes the volumes of"
	default:
		return "removes what is kept of"
	}
}

func (d *sinkDriver) health(now time.Time) HealthCheck {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := HealthCheck{Name: "sink", OK: true, Limit: metav1.Duration{Duration: sinkLimit}}
	refused, longest := 0, time.Time{}
	for _, e := range d.entries {
		if e.err != nil {
			refused++
			if longest.IsZero() || e.since.Before(longest) {
				longest, c.LastError = e.since, e.err.Error()
			}
		}
		if c.Since.IsZero() || e.since.Before(c.Since) {
			c.Since = e.since
		}
	}
	c.OK = c.Since.IsZero() || now.Sub(c.Since) < sinkLimit
	c.Detail = count(len(d.entries), "status waits, ", "statuses wait, ") + count(refused, "was refused", "were refused")
	return c
}

func (d *storeDriver) health() HealthCheck {
	good, since, err := d.trouble.read()
	c := HealthCheck{Name: "store", OK: err == nil, Since: good}
	d.mu.Lock()
	waiting := len(d.changes)
	d.mu.Unlock()
	c.Detail = count(waiting, "record waits", "records wait") + " to be written"
	if err != nil {
		c.Since, c.LastError = since, err.Error()
	}
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// count is a number with the word for one or for many.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// ago is a duration in the words of a person.
func ago(t, now time.Time) string {
	return max(now.Sub(t), 0).Round(100 * time.Millisecond).String()
}
