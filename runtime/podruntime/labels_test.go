package podruntime

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// A container of a pod that nobody knows any more gets the grace that the pod gave it.
func TestGraceSurvivesInAnnotations(t *testing.T) {
	const hour = int64(3600)
	for name, c := range map[string]struct {
		deletion, own *int64
		want          time.Duration
	}{
		"none":                 {nil, nil, runtime.MinGrace},
		"the pod's":            {nil, new(hour), time.Hour},
		"that of its deletion": {new(int64(1)), new(hour), time.Second},
		"zero":                 {new(int64(0)), new(hour), 0},
		"more than a time":     {nil, new(int64(math.MaxInt64)), math.MaxInt64 / time.Second * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{}
			pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds = c.deletion, c.own
			annotations := containerAnnotations(pod, &v1.Container{}, 0)
			require.Equal(t, c.want, annotatedGrace(&runtime.Container{Annotations: annotations}))
			require.Equal(t, c.want, runtime.Grace(pod, nil, runtime.KillOther))
		})
	}
	require.Equal(t, runtime.MinGrace, annotatedGrace(&runtime.Container{Annotations: map[string]string{podGraceAnnotation: "an hour"}}))
}
