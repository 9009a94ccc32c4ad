package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/runtime"
)

// resources makes them of words such as "cpu=1:2", request and limit, each of
// which may be missing.
func resources(words string) v1.ResourceRequirements {
	r := v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}
	for _, word := range strings.Fields(words) {
		name, amounts, _ := strings.Cut(word, "=")
		request, limit, _ := strings.Cut(amounts, ":")
		if request != "" {
			r.Requests[v1.ResourceName(name)] = resource.MustParse(request)
		}
		if limit != "" {
			r.Limits[v1.ResourceName(name)] = resource.MustParse(limit)
		}
	}
	return r
}

func resizePolicy(name v1.ResourceName, p v1.ResourceResizeRestartPolicy) func(*v1.Container) {
	return func(c *v1.Container) {
		c.ResizePolicy = append(c.ResizePolicy, v1.ContainerResizePolicy{ResourceName: name, RestartPolicy: p})
	}
}

func wants(words string) func(*v1.Container) {
	return func(c *v1.Container) { c.Resources = resources(words) }
}

// steps are the resizes of a plan as text.
func steps(a runtime.Actions) (text []string) {
	for _, s := range a.Resize {
		one := s.ID
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			request, limit := s.Resources.Requests[name], s.Resources.Limits[name]
			one += fmt.Sprintf(" %s=%s:%s", name, request.String(), limit.String())
		}
		text = append(text, one)
	}
	return text
}

func TestPlanResizes(t *testing.T) {
	restartMemory := resizePolicy(v1.ResourceMemory, v1.RestartContainer)
	for _, tt := range []struct {
		name  string
		pod   *v1.Pod
		seen  string
		has   map[string]string
		steps []string
		want  string
	}{
		{"what is not known is as it should be", newPod(always, "c0", with("c0", wants("cpu=1"))), "c0=running", nil, nil, "nothing"},
		{"in another notation", newPod(always, "c0", with("c0", wants("cpu=1"))), "c0=running", map[string]string{"c0": "cpu=1000m"}, nil, "nothing"},
		{"no other resource", newPod(always, "c0", with("c0", wants("ephemeral-storage=1"))), "c0=running", map[string]string{"c0": "ephemeral-storage=2"}, nil, "nothing"},
		{"cpu alone", newPod(always, "c0", with("c0", wants("cpu=2:3 memory=1Gi"))), "c0=running", map[string]string{"c0": "cpu=1:3 memory=1Gi"},
			[]string{"c0.0 cpu=2:3 memory=1Gi:0"}, "nothing"},
		{"memory before cpu", newPod(always, "c0", with("c0", wants("cpu=2 memory=2Gi"))), "c0=running", map[string]string{"c0": "cpu=1 memory=1Gi"},
			[]string{"c0.0 cpu=1:0 memory=2Gi:0", "c0.0 cpu=2:0 memory=2Gi:0"}, "nothing"},
		{"less before more, by the limit", newPod(always, "c0 c1 c2", with("c0", wants("cpu=1:2")), with("c1", wants("cpu=2:3")), with("c2", wants("cpu=1:4"))),
			"c0=running c1=running c2=running", map[string]string{"c0": "cpu=1:1", "c1": "cpu=1:4", "c2": "cpu=2:4"},
			[]string{"c1.0 cpu=2:3 memory=0:0", "c2.0 cpu=1:4 memory=0:0", "c0.0 cpu=1:2 memory=0:0"}, "nothing"},
		{"a first limit is less, none any more is more", newPod(always, "c0 c1", with("c0", wants("cpu=1")), with("c1", wants("cpu=1:2"))),
			"c0=running c1=running", map[string]string{"c0": "cpu=1:2", "c1": "cpu=1"},
			[]string{"c1.0 cpu=1:2 memory=0:0", "c0.0 cpu=1:0 memory=0:0"}, "nothing"},
		{"not what does not run", newPod(onFailure, "c0 c1", with("c0 c1", wants("cpu=1"))), "c0=exited:0 c1=running", map[string]string{"c0": "cpu=2", "c1": "cpu=1"}, nil, "nothing"},
		{"init containers and sidecars", newPod(always, "i0 s1 c0", with("i0 s1", wants("cpu=1"))), "s1=running i0=running", map[string]string{"i0": "cpu=2", "s1": "cpu=2"},
			[]string{"i0.0 cpu=1:0 memory=0:0", "s1.0 cpu=1:0 memory=0:0"}, "start c0"},
		{"restarted where the policy says so", newPod(always, "c0 c1", with("c0 c1", wants("cpu=1 memory=2Gi")), with("c0", restartMemory)), "c0=running c1=running",
			map[string]string{"c0": "cpu=2 memory=1Gi", "c1": "cpu=2 memory=2Gi"},
			[]string{"c1.0 cpu=1:0 memory=2Gi:0"}, "kill c0; start c0"},
		{"not for another resource", newPod(always, "c0", with("c0", wants("cpu=1 memory=1Gi")), with("c0", restartMemory)), "c0=running",
			map[string]string{"c0": "cpu=2 memory=1Gi"}, []string{"c0.0 cpu=1:0 memory=1Gi:0"}, "nothing"},
		{"a sidecar too", newPod(always, "s0 c0", with("s0", wants("memory=2Gi")), with("s0", restartMemory)), "c0=running s0=running",
			map[string]string{"s0": "memory=1Gi"}, nil, "kill s0; init s0"},
		{"never in a pod that never restarts", newPod(never, "c0", with("c0", wants("memory=2Gi")), with("c0", restartMemory)), "c0=running",
			map[string]string{"c0": "memory=1Gi"}, []string{"c0.0 cpu=0:0 memory=2Gi:0"}, "nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status := observe(tt.pod, tt.seen)
			for i := range status.Containers {
				if has, ok := tt.has[status.Containers[i].Name]; ok {
					r := resources(has)
					status.Containers[i].Resources = &r
				}
			}
			actions := runtime.Plan(runtime.PlanInput{Pod: tt.pod, Status: status, Now: now})
			require.Equal(t, tt.steps, steps(actions))
			require.Equal(t, tt.want, summary(actions))
			for _, k := range actions.Kill {
				require.Equal(t, "Container "+k.Name+" resize requires restart", k.Message)
			}
		})
	}
}
