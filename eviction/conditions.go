package eviction

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// words are what the kubelet says of a condition when it is there and when it is
// not.
type words struct{ reason, message, event string }

var conditionWords = map[v1.NodeConditionType]map[v1.ConditionStatus]words{
	v1.NodeMemoryPressure: {
		v1.ConditionTrue:  {"KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"},
		v1.ConditionFalse: {"KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"},
	},
	v1.NodeDiskPressure: {
		v1.ConditionTrue:  {"KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"},
		v1.ConditionFalse: {"KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"},
	},
	v1.NodePIDPressure: {
		v1.ConditionTrue:  {"KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"},
		v1.ConditionFalse: {"KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"},
	},
}

// NodeConditions makes the node's conditions of the reported ones: the three
// that a kubelet always reports, and a host's own where they are there, with the
// kubelet's reasons and messages. before are the ones of the last time; a
// condition whose status stays keeps its transition time. events tells users
// about those that changed, or were never reported before.
func NodeConditions(reported []v1.NodeConditionType, before []v1.NodeCondition, now time.Time) (conditions []v1.NodeCondition, events []runtime.Event) {
	types := []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure}
	for _, t := range reported {
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for i := range before {
		if !slices.Contains(types, before[i].Type) {
			types = append(types, before[i].Type)
		}
	}
	for _, t := range types {
		c, event := nodeCondition(t, slices.Contains(reported, t), before, metav1.NewTime(now))
		conditions = append(conditions, c)
		if event != "" {
			events = append(events, runtime.Event{Type: v1.EventTypeNormal, Reason: event, Message: "Node status is now: " + event})
		}
	}
	return conditions, events
}

func nodeCondition(t v1.NodeConditionType, there bool, before []v1.NodeCondition, now metav1.Time) (c v1.NodeCondition, event string) {
	c = v1.NodeCondition{Type: t, Status: v1.ConditionFalse, LastHeartbeatTime: now, LastTransitionTime: now}
	if there {
		c.Status = v1.ConditionTrue
	}
	said, ok := conditionWords[t][c.Status]
	switch {
	case ok:
	case there:
		said = words{reason: "EvictionThresholdMet", message: "eviction threshold is met", event: "NodeHas" + string(t)}
	default:
		said = words{reason: "EvictionThresholdNotMet", message: "no eviction threshold is met", event: "NodeHasNo" + string(t)}
	}
	c.Reason, c.Message = said.reason, said.message
	i := slices.IndexFunc(before, func(b v1.NodeCondition) bool { return b.Type == t })
	if i >= 0 && before[i].Status == c.Status {
		c.LastTransitionTime = before[i].LastTransitionTime
		return c, ""
	}
	return c, said.event
}
