package runtime

import (
	"maps"
	"time"
)

// PullBackoff remembers the pulls of one pod that failed, by image: the next pull
// waits 10 s from the failure, doubling to 5 min, and from the beginning again
// after twice the longest wait without a failure (ResetAfter is not used). It is a
// value: methods return a changed copy. The zero value is ready for use.
type PullBackoff struct {
	Config  BackoffConfig
	entries map[string]pullEntry // by image as the spec names it; never written to
}

type pullEntry struct {
	wait     time.Duration
	failedAt time.Time
	failure  string // reason and error
}

// Failed returns the back-off after a pull of the image, as the spec names it,
// failed at now.
func (b PullBackoff) Failed(image string, err error, now time.Time) PullBackoff {
	b = b.fresh(now)
	b.entries[image] = pullEntry{
		wait:     b.Config.withDefaults().after(b.entries[image].wait),
		failedAt: now,
		failure:  pullReason(err) + ": " + err.Error(),
	}
	return b
}

// Succeeded returns the back-off after the image was pulled at now: its next
// failure is the first again. (The kubelet goes on where it was for a while.)
func (b PullBackoff) Succeeded(image string, now time.Time) PullBackoff {
	b = b.fresh(now)
	delete(b.entries, image)
	return b
}

// until returns when the wait for the image ends, or the zero time for none, and
// how its last pull failed.
func (b PullBackoff) until(image string, now time.Time) (retryAt time.Time, failure string) {
	entry := b.entries[image]
	// A failure that lies in the future by more than the wait says that the
	// clock was turned back: it is no reason to wait.
	if since := now.Sub(entry.failedAt); since >= entry.wait || -since >= entry.wait {
		return time.Time{}, ""
	}
	return entry.failedAt.Add(entry.wait), entry.failure
}

// fresh returns a copy without what is too old to matter, and with a map of its
// own.
func (b PullBackoff) fresh(now time.Time) PullBackoff {
	limit := 2 * b.Config.withDefaults().Max
	entries := make(map[string]pullEntry, len(b.entries)+1)
	maps.Copy(entries, b.entries)
	maps.DeleteFunc(entries, func(_ string, e pullEntry) bool { return now.Sub(e.failedAt) > limit })
	b.entries = entries
	return b
}
