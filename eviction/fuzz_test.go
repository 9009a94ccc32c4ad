package eviction_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/internal/recordings"
)

// FuzzSettings parses anything that may stand on a command line. What is parsed
// is in order, watches known signals only, and is the same the second time.
func FuzzSettings(f *testing.F) {
	f.Add("memory.available<1Gi,nodefs.available<10%", "memory.available<2Gi", "memory.available=1m30s", "memory.available=0,nodefs.available=5%")
	f.Add("", "", "", "")
	f.Add("memory.available<NaN%", "nodefs.available<1e-30%", "nodefs.available=0s", "memory.available=Inf%")
	f.Add("pid.available<9223372036854775808", "x<y", "=", ",,<")
	f.Fuzz(func(t *testing.T, hard, soft, grace, reclaim string) {
		parse := func() (eviction.Policy, error) {
			var s eviction.Settings
			fs := flag.NewFlagSet("", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			s.AddFlags(fs)
			err := fs.Parse([]string{"--eviction-hard=" + hard, "--eviction-soft=" + soft,
				"--eviction-soft-grace-period=" + grace, "--eviction-minimum-reclaim=" + reclaim, "--enforce-node-allocatable=pods"})
			if err != nil {
				return eviction.Policy{}, err
			}
			return s.Policy()
		}
		p, err := parse()
		again, errAgain := parse()
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(errAgain))
		require.Equal(t, recordings.JSON(p.Thresholds), recordings.JSON(again.Thresholds))
		for _, threshold := range p.Thresholds {
			require.True(t, threshold.Signal.Known())
			require.GreaterOrEqual(t, threshold.GracePeriod, time.Duration(0))
			for _, capacity := range []int64{0, 1, 1 << 40} {
				require.GreaterOrEqual(t, threshold.Value.Of(capacity), int64(0))
				if threshold.MinReclaim != nil {
					require.GreaterOrEqual(t, threshold.MinReclaim.Of(capacity), int64(0))
				}
			}
		}
	})
}

// FuzzEvaluate plays rounds over whatever a summary may say, and holds the
// outcomes against what must always be true.
func FuzzEvaluate(f *testing.F) {
	f.Add([]byte(`{"node":{"memory":{"availableBytes":1,"workingSetBytes":9}},"pods":[{"podRef":{"uid":"uid-a"},"memory":{"workingSetBytes":7}}]}`), uint8(3), int64(10))
	f.Add([]byte(`{"node":{"fs":{"availableBytes":1,"capacityBytes":90,"inodes":0,"inodesFree":0},"rlimit":{"maxpid":10,"curproc":11}},"pods":[{"podRef":{"uid":"uid-limited"},"volume":[{"name":"cache","usedBytes":18446744073709551615}]}]}`), uint8(1), int64(-5))
	f.Add([]byte(`{"node":{"memory":{"availableBytes":18446744073709551615,"workingSetBytes":1}}}`), uint8(0), int64(0))
	f.Fuzz(func(t *testing.T, summary []byte, flags uint8, step int64) {
		var s eviction.Summary
		if json.Unmarshal(summary, &s) != nil {
			return
		}
		limited := namedPod("limited")
		limited.Spec.Volumes = []v1.Volume{emptyDir("cache", "1Mi")}
		pods := eviction.PodsOf(namedPod("a"), limited, staticPod("static"), podWith("critical", admission.CriticalPriority, nil))
		pods.MeasureAll(s.Pods)
		in := eviction.Input{
			Policy: fuzzPolicy(t, flags), Observations: eviction.Observe(&s.Node), Pods: pods, Now: at(0),
		}
		for round := range 4 {
			before := fmt.Sprint(in.State)
			out := eviction.Evaluate(in)
			require.Equal(t, before, fmt.Sprint(in.State), "the state that is given is not written to")
			same := eviction.Evaluate(in)
			require.True(t, reflect.DeepEqual(out.Victim, same.Victim) && reflect.DeepEqual(out.State, same.State), "the same input, the same answer")
			holds(t, in, out)
			in.State, in.Now = out.State, in.Now.Add(time.Duration(step)*time.Second)
			for i := range in.Observations {
				if round%2 == 0 {
					in.Observations[i].Time = in.Now
				}
			}
		}
	})
}

func fuzzPolicy(t *testing.T, flags uint8) eviction.Policy {
	p := eviction.Policy{
		Thresholds: mustThresholds(t, eviction.Settings{
			Hard: map[string]string{"memory.available": "50%", "nodefs.available": "10", "nodefs.inodesFree": "5%", "pid.available": "3"},
			Soft: map[string]string{"memory.available": "80%"}, SoftGracePeriod: map[string]string{"memory.available": "15s"},
			MinimumReclaim: map[string]string{"memory.available": "10%"},
		}),
		TransitionPeriod:   time.Minute * time.Duration(flags&1),
		LocalStorageLimits: flags&2 != 0,
		MaxPodGracePeriod:  time.Duration(flags&4) - 2,
		Layout:             eviction.Layout{DedicatedImageFs: flags&8 != 0, DedicatedContainerFs: flags&16 != 0},
	}
	p.Thresholds, _ = eviction.ContainerFsThresholds(p.Thresholds, p.Layout)
	return p
}

// holds checks what is true of every outcome.
func holds(t *testing.T, in eviction.Input, out eviction.Outcome) {
	victims := out.Over
	if out.Victim != nil {
		require.Empty(t, out.Over, "nothing else is done beside limits")
		require.Nil(t, out.Stuck)
		require.NotEmpty(t, out.Short)
		require.True(t, in.Policy.TransitionPeriod == 0 || len(out.Conditions) > 0, "a pod goes only under pressure")
		victims = append(victims, *out.Victim)
		require.Equal(t, out.Victim.Pod, firstThatMayGo(out.Ranking()), "the victim is the first of the ranking that may go")
	}
	for _, v := range victims {
		require.False(t, admission.IsCritical(v.Pod), "a critical pod stays")
		require.GreaterOrEqual(t, v.Grace(), time.Second)
	}
	if len(in.Observations) == 0 {
		require.Nil(t, out.Victim, "nothing was observed")
	}
	if out.Short != "" {
		require.Len(t, out.Ranking(), in.Pods.Len())
		require.Equal(t, out.Victim == nil, out.Stuck != nil)
	}
}

func firstThatMayGo(ranking []eviction.Place) *v1.Pod {
	for _, p := range ranking {
		if p.Protected == "" {
			return p.Pod
		}
	}
	return nil
}
