package probe

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Kind is what a probe is for.
type Kind string

// The kinds of probes. A container has at most one of each of the first three.
const (
	// Startup guards the others: they begin once it has succeeded. It is over
	// with its first verdict; a failure has the container restarted.
	Startup Kind = "startup"
	// Readiness says whether the container may be sent work.
	Readiness Kind = "readiness"
	// Liveness has the container restarted when it fails.
	Liveness Kind = "liveness"
	// Observe is a probe of the host's own, with a name of its own: it waits
	// for no startup probe, is never on hold, and has no effect in this
	// library. A container may have any number. Its outcome is published
	// whenever verdict, output or error changed, an error at once as Unknown;
	// no events are sent.
	Observe Kind = "observe"
)

// Settings say when an attempt is made, and how many make a verdict. The zero
// value has the defaults of the API.
type Settings struct {
	// InitialDelay counts from the start of the container; 0 by default.
	InitialDelay time.Duration
	// Period is from one attempt to the next; 10 s by default, 10 ms at least.
	Period time.Duration
	// Timeout of one try; 1 s by default.
	Timeout time.Duration
	// SuccessThreshold and FailureThreshold are how many attempts in a row
	// must come to the same; 1 and 3 by default.
	SuccessThreshold, FailureThreshold int32
}

const (
	// minPeriod bounds how often a probe can ask to be made.
	minPeriod = 10 * time.Millisecond
	// longest is the most that the API can say, 68 years: sums of it are times still.
	longest = math.MaxInt32 * time.Second
)

// SettingsOf reads the settings of a probe of the API.
func SettingsOf(p *v1.Probe) Settings {
	return Settings{
		InitialDelay:     time.Duration(p.InitialDelaySeconds) * time.Second,
		Period:           time.Duration(p.PeriodSeconds) * time.Second,
		Timeout:          time.Duration(p.TimeoutSeconds) * time.Second,
		SuccessThreshold: p.SuccessThreshold,
		FailureThreshold: p.FailureThreshold,
	}.withDefaults()
}

func (s Settings) withDefaults() Settings {
	s.InitialDelay = min(max(s.InitialDelay, 0), longest)
	if s.Period <= 0 {
		s.Period = 10 * time.Second
	}
	s.Period = min(max(s.Period, minPeriod), longest)
	if s.Timeout <= 0 {
		s.Timeout = time.Second
	}
	if s.SuccessThreshold <= 0 {
		s.SuccessThreshold = 1
	}
	if s.FailureThreshold <= 0 {
		s.FailureThreshold = 3
	}
	return s
}

// kindCode and verdictCode are the kinds and verdicts in one byte each: there may
// be a hundred thousand trackers.
type (
	kindCode    uint8
	verdictCode uint8
)

const (
	observe kindCode = iota
	startup
	readiness
	liveness
)

const (
	unknown verdictCode = iota
	success
	failure
)

func codeOf(k Kind) kindCode {
	switch k {
	case Startup:
		return startup
	case Readiness:
		return readiness
	case Liveness:
		return liveness
	}
	return observe
}

func (k kindCode) kind() Kind { return [...]Kind{Observe, Startup, Readiness, Liveness}[k] }

// title is the kind's name in events.
func (k kindCode) title() string {
	return [...]string{"Observe", "Startup", "Readiness", "Liveness"}[k]
}

func (v verdictCode) verdict() runtime.Verdict {
	return [...]runtime.Verdict{runtime.VerdictUnknown, runtime.VerdictSuccess, runtime.VerdictFailure}[v]
}
