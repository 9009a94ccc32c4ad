package runtime

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// BackoffConfig sets the pace of a back-off. The zero value is the kubelet's.
type BackoffConfig struct {
	// Base is the first wait that is not zero; 10 s.
	Base time.Duration
	// Max limits the waits, which double each time; 5 min.
	Max time.Duration
	// ResetAfter is how long a container must have run since its last start
	// for its waits to begin anew; 10 min.
	ResetAfter time.Duration
}

func (c BackoffConfig) withDefaults() BackoffConfig {
	if c.Base <= 0 {
		c.Base = 10 * time.Second
	}
	if c.Max <= 0 {
		c.Max = 5 * time.Minute
	}
	if c.ResetAfter <= 0 {
		c.ResetAfter = 10 * time.Minute
	}
	return c
}

// after returns the wait that follows a wait.
func (c BackoffConfig) after(wait time.Duration) time.Duration {
	switch {
	case wait <= 0:
		return min(c.Base, c.Max)
	case wait > c.Max/2:
		return c.Max
	}
	return 2 * wait
}

// Backoff remembers how the containers of one pod were started, and derives from
// it how long the next start has to wait: not at all the first time, then until
// 10 s after its end, doubling to 5 min; and from the beginning again for a
// container that ran for more than 10 minutes, or that got another image or other
// resources. It also remembers restart counts, for a container of which nothing
// is left to see: they never go back.
//
// It is a value: methods return a changed copy, so that copies are independent.
// The zero value is ready for use, also for a pod that ran before this agent did
// (see [Backoff.Observe]). Whoever carries out plans keeps one a pod:
//
//	actions := Plan(PlanInput{Backoff: backoff, …})
//	backoff = actions.Backoff
//	… for each container that is started:
//	backoff = backoff.Started(start, time.Now())
type Backoff struct {
	Config  BackoffConfig
	entries []backoffEntry // one a container, few; never written to
}

type backoffEntry struct {
	name      string        // of the container
	key       uint64        // of the spec, see backoffKey
	wait      time.Duration // of the next start
	startedAt time.Time     // when the last start was decided
	endedAt   time.Time     // of the newest instance that was seen to have ended
	next      int32         // restart count to come, after the highest that was seen
}

// Start returns the next start of the container: its restart count, and whether
// and why it has to wait.
func (b Backoff) Start(pod *v1.Pod, container *v1.Container, status *PodStatus, now time.Time) Start {
	entry, known := b.of(container.Name)
	newest := status.Container(container.Name)
	start := Start{Container: container, RestartCount: max(entry.next, nextRestartCount(newest))}
	known = known && entry.key == backoffKey(container)

	end, ended := lastEnd(status, container.Name, nil)
	switch {
	case ended && !end.IsZero():
	case ended, known && newest == nil && (entry.wait > 0 || HasRestartAllRule(pod)):
		// The runtime does not say when it ended; or its instances are gone: with
		// a sandbox before, or to restart the whole pod. What was seen last is
		// left to count from.
		end = entry.startedAt
		if entry.endedAt.After(end) {
			end = entry.endedAt
		}
	default:
		start.NextWait = entry.wait
		return start
	}

	cfg := b.Config.withDefaults()
	var wait time.Duration
	if known && entry.ranUntil(newest, now).Sub(entry.startedAt) <= cfg.ResetAfter {
		wait = entry.wait
	}
	start.NextWait = cfg.after(wait)
	// An end that lies in the future by more than the wait says that the clock
	// was turned back: it is no reason to wait.
	if since := now.Sub(end); since < wait && -since < wait {
		start.WaitUntil = end.Add(wait)
		start.Reason = ReasonCrashLoopBackOff
		start.Message = fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", wait, container.Name, RefOf(pod))
	}
	return start
}

// ranUntil returns the end of the time that counts as running: one that is about
// to be killed ran until now, and one that is gone until its end, if that was seen.
func (e backoffEntry) ranUntil(newest *ContainerStatus, now time.Time) time.Time {
	switch {
	case newest == nil && !e.endedAt.Before(e.startedAt):
		return e.endedAt
	case newest != nil && newest.State == StateExited && !newest.FinishedAt.IsZero():
		return newest.FinishedAt
	}
	return now
}

// Started returns the back-off after the start was decided at now. Call it before
// the instance is made, whether or not that then works, as the kubelet does.
func (b Backoff) Started(start Start, now time.Time) Backoff {
	entry, _ := b.of(start.Container.Name)
	entry.key = backoffKey(start.Container)
	entry.wait = start.NextWait
	entry.startedAt = now
	return b.with(entry)
}

// Observe returns the back-off after the pod was seen like this; [Plan] calls it.
// It takes up the restart counts, and rebuilds what it does not know, for an agent
// that was restarted: a container with n restarts has to wait as long as after n
// starts in a row; but if its instance before the newest is still to be seen, no
// longer than follows from the time between the two.
func (b Backoff) Observe(pod *v1.Pod, status *PodStatus) Backoff {
	var news []backoffEntry
	for c := range eachContainer(pod) {
		newest := status.Container(c.Name)
		if newest == nil {
			continue
		}
		entry, known := b.of(c.Name)
		switch {
		case !known:
			news = append(news, b.rebuild(c, newest, status))
		case entry.next < nextRestartCount(newest), newest.FinishedAt.After(entry.endedAt):
			entry.next = max(entry.next, nextRestartCount(newest))
			entry.endedAt = newest.FinishedAt
			news = append(news, entry)
		}
	}
	return b.with(news...)
}

func (b Backoff) rebuild(c *v1.Container, newest *ContainerStatus, status *PodStatus) backoffEntry {
	entry := backoffEntry{
		name: c.Name, key: backoffKey(c), next: nextRestartCount(newest),
		startedAt: newest.StartedAt, endedAt: newest.FinishedAt,
	}
	if entry.startedAt.IsZero() {
		entry.startedAt = newest.CreatedAt
	}
	if hashChanged(c, newest) {
		return entry
	}
	gap := time.Duration(math.MaxInt64)
	if end, ok := lastEnd(status, c.Name, newest); ok {
		gap = newest.CreatedAt.Sub(end)
	}
	cfg := b.Config.withDefaults()
	for n := int32(0); n < newest.RestartCount && entry.wait <= gap && entry.wait < cfg.Max; n++ {
		entry.wait = cfg.after(entry.wait)
	}
	return entry
}

// of is what is remembered of a container, and whether anything is.
func (b Backoff) of(name string) (backoffEntry, bool) {
	for i := range b.entries {
		if b.entries[i].name == name {
			return b.entries[i], true
		}
	}
	return backoffEntry{name: name}, false
}

// with returns a copy with the news in the places of those of their names.
func (b Backoff) with(news ...backoffEntry) Backoff {
	if len(news) == 0 {
		return b
	}
	entries := make([]backoffEntry, 0, max(len(b.entries), len(news))) // mostly all are known, or none
	for _, old := range b.entries {
		if !slices.ContainsFunc(news, func(e backoffEntry) bool { return e.name == old.name }) {
			entries = append(entries, old)
		}
	}
	b.entries = append(entries, news...)
	return b
}

// nextRestartCount returns the restart count that follows the instance's, which may
// be nil for none. A count that is no count, or can grow no more, does no harm.
func nextRestartCount(newest *ContainerStatus) int32 {
	if newest == nil {
		return 0
	}
	return min(max(0, newest.RestartCount), math.MaxInt32-1) + 1
}

// lastEnd returns when the newest instance of the name that ended did so, leaving
// one instance, or nil, out of account.
func lastEnd(status *PodStatus, name string, but *ContainerStatus) (time.Time, bool) {
	if status == nil {
		return time.Time{}, false
	}
	for i := range status.Containers {
		if c := &status.Containers[i]; c != but && c.Name == name && c.State == StateExited {
			return c.FinishedAt, true
		}
	}
	return time.Time{}, false
}

// backoffKey stands for what of a container's spec makes its waits begin anew when
// it changes.
func backoffKey(c *v1.Container) uint64 {
	h := fnv.New64a()
	h.Write([]byte(c.Image))
	h.Write([]byte{0})
	if r := &c.Resources; len(r.Requests)+len(r.Limits)+len(r.Claims) > 0 {
		// Quantities, and maps of them, always have a JSON form.
		resources, _ := json.Marshal(r)
		h.Write(resources)
	}
	return h.Sum64()
}
