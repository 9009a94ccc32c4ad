package podstatus_test

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// difference is a rule by which this library says something else than the
// kubelet, on purpose; a row of docs/differences.md. Asked with an input and what
// we said, kubelet gives what the kubelet says by this rule, or nil where the
// rule does not apply. It may change the input to tell the rules after it.
type difference struct {
	name    string
	kubelet func(in *podstatus.Input, said *v1.PodStatus) *v1.PodStatus
}

var differences = []difference{
	{"a terminal phase is final", successAfterFailure},
	{"an instance that was lost stays lost", lostOnce},
	{"started is said of one instance", startedOfAnother},
	{"the phase sees who has started", phaseOfLastTime},
}

// explain looks for the rules that make a difference, and returns the kubelet's
// answer by them with the first one's name.
func explain(in *podstatus.Input, said, want *v1.PodStatus) (rule string, answer *v1.PodStatus) {
	for _, d := range differences {
		if sameStatus(said, want) {
			break
		}
		if as := d.kubelet(in, said); as != nil {
			said = as
			if rule == "" {
				rule = d.name
			}
		}
	}
	return rule, said
}

// successAfterFailure: the kubelet says Succeeded of a pod after Failed, or the
// reverse, if that is what its containers amount to later.
func successAfterFailure(in *podstatus.Input, _ *v1.PodStatus) *v1.PodStatus {
	if in.Previous == nil || !podstatus.Terminal(in.Previous.Phase) || podstatus.Terminal(in.Pod.Status.Phase) {
		return nil
	}
	open := *in
	open.Previous = in.Previous.DeepCopy()
	open.Previous.Phase = ""
	as, _ := compute(open)
	if !podstatus.Terminal(as.Phase) || as.Phase == in.Previous.Phase {
		return nil
	}
	*in = open
	return as
}

// lostOnce: the kubelet says of an instance in an unknown state that it waits,
// once it had said that it ended.
func lostOnce(in *podstatus.Input, _ *v1.PodStatus) *v1.PodStatus {
	if in.Previous == nil {
		return nil
	}
	observed := *in.Observed
	observed.Containers = slices.Clone(observed.Containers)
	before := statuses(in.Previous)
	found := false
	for i := range observed.Containers {
		c := &observed.Containers[i]
		was := before[c.Name]
		if c.State == runtime.StateUnknown && was.State.Terminated != nil && was.ContainerID == in.RuntimeName+"://"+c.ID {
			c.State = runtime.StateCreated
			found = true
		}
	}
	if !found {
		return nil
	}
	in.Observed = &observed
	as, _ := compute(*in)
	return as
}

// startedOfAnother: the kubelet says of a new instance that it has started,
// because the one before had, until the startup probe has a result for it.
func startedOfAnother(in *podstatus.Input, said *v1.PodStatus) *v1.PodStatus {
	if in.Previous == nil {
		return nil
	}
	results := maps.Clone(in.Startup.Results)
	if results == nil {
		results = map[string]runtime.Verdict{}
	}
	before := statuses(in.Previous)
	for name, now := range statuses(said) {
		was := before[name]
		if now.State.Running == nil || was.Started == nil || !*was.Started || was.ContainerID == now.ContainerID {
			continue
		}
		if id := in.Observed.Container(name).ID; results[id] == "" {
			results[id] = runtime.VerdictSuccess
		}
	}
	if len(results) == len(in.Startup.Results) {
		return nil
	}
	in.Startup.Results = results
	as, _ := compute(*in)
	return as
}

// phaseOfLastTime: while the sandbox that is ready has no regular container, the
// kubelet counts a sidecar as pending for the phase until the status before said
// that it has started.
func phaseOfLastTime(in *podstatus.Input, said *v1.PodStatus) *v1.PodStatus {
	if said.Phase != v1.PodRunning || hasActiveRegular(in) {
		return nil
	}
	before := map[string]v1.ContainerStatus{}
	if in.Previous != nil {
		before = statuses(in.Previous)
	}
	for _, c := range in.Pod.Spec.InitContainers {
		was := before[c.Name]
		if runtime.IsSidecar(&c) && statuses(said)[c.Name].State.Running != nil && (was.Started == nil || !*was.Started) {
			as := said.DeepCopy()
			as.Phase, as.Reason, as.Message = v1.PodPending, "", ""
			return as
		}
	}
	return nil
}

func hasActiveRegular(in *podstatus.Input) bool {
	sandboxes := in.Observed.Sandboxes
	return len(sandboxes) > 0 && sandboxes[0].Ready &&
		slices.ContainsFunc(in.Pod.Spec.Containers, func(c v1.Container) bool {
			return in.Observed.Container(c.Name) != nil
		})
}

// statuses are the statuses of init and regular containers by name.
func statuses(status *v1.PodStatus) map[string]v1.ContainerStatus {
	byName := map[string]v1.ContainerStatus{}
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for _, s := range list {
			byName[s.Name] = s
		}
	}
	return byName
}
