package lifecycle

import (
	"hash/fnv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Rules are the times that a life goes by. The zero value has the kubelet's.
type Rules struct {
	// Resync is how long after a sync the next one comes although nothing
	// changed; default 1 minute. It is stretched by [Jitter].
	Resync time.Duration
	// Backoff is how long after a failed sync the next one comes; default 10
	// seconds, stretched by Jitter.
	Backoff time.Duration
	// KillBackoff is the same after a failed kill or clean-up, doubling up to
	// Backoff for kills and up to Resync for the rest; default 2 seconds.
	KillBackoff time.Duration
	// Transient is the back-off of errors that pass by themselves, and the
	// least time between a failure and the next try; default 1 second.
	Transient time.Duration
}

func (r Rules) withDefaults() Rules {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&r.Resync, time.Minute)
	set(&r.Backoff, 10*time.Second)
	set(&r.KillBackoff, 2*time.Second)
	set(&r.Transient, time.Second)
	return r
}

// minGrace is the least grace: the API's zero means one second.
const minGrace = time.Second

// Grace returns the grace period of a pod whose grace was current (zero for
// not set) when override is asked for (zero for none): the least of current,
// the pod's deletion grace and the override; the spec's own if none of these is
// set; at least a second. Pod may be nil.
func Grace(current, override time.Duration, pod *v1.Pod) time.Duration {
	grace, chosen := current, false
	shrink := func(d time.Duration) {
		if grace == 0 || d < grace {
			grace, chosen = d, true
		}
	}
	if pod != nil && pod.DeletionGracePeriodSeconds != nil {
		shrink(seconds(*pod.DeletionGracePeriodSeconds))
	}
	if override > 0 {
		shrink(override)
	}
	if !chosen && grace == 0 && pod != nil && pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = seconds(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return max(grace, minGrace)
}

// seconds turns a number out of a pod into a duration that can't overflow and
// is never zero, which would mean that it is not set.
func seconds(n int64) time.Duration {
	const most = int64(100 * 365 * 24 * time.Hour / time.Second)
	return time.Duration(max(min(n, most), 1)) * time.Second
}

// Jitter stretches a duration by a factor between 1 and 1.5 that depends on the
// UID and the number of the try alone, so that pods do not move in step and a
// replay gives the same times.
func Jitter(d time.Duration, uid types.UID, try uint64) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	_, _ = h.Write([]byte{byte(try), byte(try >> 8), byte(try >> 16), byte(try >> 24)})
	const steps = 1 << 16
	part := time.Duration(h.Sum32() % steps)
	return d + d/2/steps*part
}

// resync is when a pod is synced again after a sync that went well. Pods for
// which nothing else is due meet on whole seconds, so that an idle node of many
// pods wakes up once a second and not for each of them.
func (r Rules) resync(s State, e Done, now time.Time) time.Time {
	due := now.Add(Jitter(r.Resync, s.UID, s.Seq))
	due = due.Add(time.Second - time.Duration(due.Nanosecond()))
	if e.RetryAt.IsZero() {
		return due
	}
	// One that lies in the past must not drive the agent in circles.
	until := e.RetryAt.Sub(now)
	if until <= 0 {
		until = r.Transient
	}
	if soon := now.Add(until); soon.Before(due) {
		return soon
	}
	return due
}

// retry is when failed work is tried again.
func (r Rules) retry(s State, w Work, e Done, now time.Time) time.Time {
	var wait time.Duration
	switch {
	case w == WorkTerminate:
		wait = doubled(r.KillBackoff, s.Failures, r.Backoff)
	case w != WorkSync:
		wait = doubled(r.KillBackoff, s.Failures, r.Resync)
	case strings.Contains(e.Err.Error(), "network is not ready"):
		wait = r.Transient
	case !e.RetryAt.IsZero():
		wait = max(0, min(e.RetryAt.Sub(now), r.Resync))
	default:
		wait = r.Backoff
	}
	return now.Add(Jitter(wait, s.UID, s.Seq))
}

func doubled(d time.Duration, failures int, limit time.Duration) time.Duration {
	for range min(failures-1, 10) {
		d *= 2
	}
	return max(min(d, limit), 0)
}
