package runtime_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func TestGrace(t *testing.T) {
	const none, liveness, startup = runtime.KillOther, runtime.KillLivenessProbe, runtime.KillStartupProbe
	unset := int64(-1)
	for _, c := range []struct {
		name                         string
		pod, deletion, live, started int64
		reason                       runtime.KillReason
		want                         time.Duration
	}{
		{"nothing is set", unset, unset, unset, unset, none, 2 * time.Second},
		{"the pod's", 60, unset, unset, unset, none, 60 * time.Second},
		{"the liveness probe's own", 60, unset, 10, unset, liveness, 10 * time.Second},
		{"killed for another reason", 60, unset, 10, unset, none, 60 * time.Second},
		{"the startup probe's own", 60, unset, 30, 10, startup, 10 * time.Second},
		{"each probe has its own", 60, unset, 30, 10, liveness, 30 * time.Second},
		{"neither probe is the reason", 60, unset, 30, 10, none, 60 * time.Second},
		{"a probe may have more than the pod", 10, unset, 60, unset, liveness, 60 * time.Second},
		{"deletion beats all", 60, 5, 10, 10, liveness, 5 * time.Second},
		{"at once", 60, 0, 10, 10, liveness, 0},
		{"less than none", -7, unset, unset, unset, none, 0},
		{"longer than a duration", math.MaxInt64, unset, unset, unset, none, math.MaxInt64 / time.Second * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := newPod(always, "c0")
			set := func(n int64) *int64 {
				if n == unset {
					return nil
				}
				return &n
			}
			pod.Spec.TerminationGracePeriodSeconds, pod.DeletionGracePeriodSeconds = set(c.pod), set(c.deletion)
			container := &pod.Spec.Containers[0]
			container.LivenessProbe = &v1.Probe{TerminationGracePeriodSeconds: set(c.live)}
			container.StartupProbe = &v1.Probe{TerminationGracePeriodSeconds: set(c.started)}
			require.Equal(t, c.want, runtime.Grace(pod, container, c.reason))
		})
	}
}

func TestStopOrder(t *testing.T) {
	const minute = time.Minute
	pod := newPod(always, "i0 s0 s1 s2 c0 c1 e0")
	for _, c := range []struct {
		name, seen string
		pod        *v1.Pod
		grace      time.Duration
		want       string // each container with those that it waits for
	}{
		{"sidecars go last, the last one first", "e0=running c1=running c0=running s2=running s1=running s0=running", pod, minute,
			"e0 c1 c0 s2<c0.0,c1.0 s1<c0.0,c1.0,s2.0 s0<c0.0,c1.0,s1.0,s2.0"},
		{"who does not run is not waited for", "c1=exited:0 c0=running s2=exited:1 s1=running s0=running", pod, minute,
			"c0 s1<c0.0 s0<c0.0,s1.0"},
		{"only sidecars are left", "s2=running s1=running s0=running", pod, minute, "s2 s1<s2.0 s0<s1.0,s2.0"},
		{"plain init containers neither wait nor are waited for", "i0=running s0=running", pod, minute, "i0 s0"},
		{"one in an unknown state may run", "c0=unknown s0=running", pod, minute, "c0 s0<c0.0"},
		{"no time for order", "c0=running s0=running", pod, time.Second - 1, "c0 s0"},
		{"a pod that only the runtime knows", "c0=running s0=running", nil, minute, "c0 s0"},
		{"nothing runs", "c0=exited:0 c1=created", pod, minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range runtime.StopOrder(c.pod, observe(pod, c.seen), c.grace) {
				require.Equal(t, c.grace, s.Grace)
				require.Equal(t, fmt.Sprintf("Stopping container %s", s.Name), s.Message)
				word := s.Name
				if len(s.After) > 0 {
					word += "<" + strings.Join(sorted(s.After), ",")
				}
				got = append(got, word)
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}

	require.Empty(t, runtime.StopOrder(pod, nil, minute))
	grace := int64(7)
	pod.Spec.TerminationGracePeriodSeconds = &grace
	require.Equal(t, 7*time.Second, runtime.StopOrder(pod, observe(pod, "c0=running"), 0)[0].Grace, "none given: its own")
	require.Equal(t, runtime.MinGrace, runtime.StopOrder(nil, observe(pod, "c0=running"), 0)[0].Grace)
}
