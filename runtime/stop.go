package runtime

import (
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// MinGrace is the least time that a container gets between being asked to end
// and being killed, whatever its grace.
const MinGrace = 2 * time.Second

// Grace returns how long a container may take to stop, hooks included: the
// pod's deletion grace, if it is being deleted; else that of the probe which is
// the reason, if it has its own; else the pod's; and where the pod says nothing,
// [MinGrace]. A nil container has no probes.
func Grace(pod *v1.Pod, container *v1.Container, reason KillReason) time.Duration {
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		return seconds(*pod.DeletionGracePeriodSeconds)
	case pod.Spec.TerminationGracePeriodSeconds == nil:
		return MinGrace
	}
	if probe := killingProbe(container, reason); probe != nil && probe.TerminationGracePeriodSeconds != nil {
		return seconds(*probe.TerminationGracePeriodSeconds)
	}
	return seconds(*pod.Spec.TerminationGracePeriodSeconds)
}

func killingProbe(container *v1.Container, reason KillReason) *v1.Probe {
	switch {
	case container == nil:
		return nil
	case reason == KillLivenessProbe:
		return container.LivenessProbe
	case reason == KillStartupProbe:
		return container.StartupProbe
	}
	return nil
}

// seconds converts without running over; less than none is none.
func seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(n, 0), most)) * time.Second
}

// StopOrder returns how to stop what runs of a pod: all containers at the same
// time, but a sidecar after the containers of the pod, and after the sidecars
// that come later in its spec. Containers that do not run are not in it and are
// not waited for; nor are plain init and ephemeral containers. A grace of zero
// gives each container its own ([Grace]); any other is given to all, and one
// below a second, which leaves no time for order, makes no one wait. A nil pod
// stops all at once, each with [MinGrace] unless grace says otherwise.
func StopOrder(pod *v1.Pod, status *PodStatus, grace time.Duration) []Stop {
	if status == nil {
		return nil
	}
	var stops []Stop
	for i := range status.Containers {
		c := &status.Containers[i]
		if !c.mayRun() {
			continue
		}
		stop := Stop{ID: c.ID, Name: c.Name, Message: "Stopping container " + c.Name, Grace: grace}
		switch {
		case grace != 0:
		case pod == nil:
			stop.Grace = MinGrace
		default:
			stop.Grace = Grace(pod, nil, KillOther)
		}
		stops = append(stops, stop)
	}
	if pod != nil {
		orderSidecars(pod, stops)
	}
	return stops
}

// orderSidecars makes each sidecar wait for those that depend on it: the regular
// containers, and the sidecars after it. It waits for all of them: the next one may
// end by itself before its turn.
func orderSidecars(pod *v1.Pod, stops []Stop) {
	byName := make(map[string][]int, len(stops))
	for i := range stops {
		byName[stops[i].Name] = append(byName[stops[i].Name], i)
	}
	var after []string
	for i := range pod.Spec.Containers {
		for _, n := range byName[pod.Spec.Containers[i].Name] {
			after = append(after, stops[n].ID)
		}
	}
	for i := len(pod.Spec.InitContainers) - 1; i >= 0; i-- {
		c := &pod.Spec.InitContainers[i]
		if !IsSidecar(c) || len(byName[c.Name]) == 0 {
			continue
		}
		var own []string
		for _, n := range byName[c.Name] {
			if stops[n].Grace >= time.Second {
				stops[n].After = after
			}
			own = append(own, stops[n].ID)
		}
		after = append(slices.Clip(after), own...)
	}
}
