package podstatus

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Input is everything that a status is made of. Nothing in it is written to.
type Input struct {
	// Pod is the pod as its source gave it, with the resources that it was
	// granted; never nil.
	Pod *v1.Pod
	// API is the status of the mirror of a static pod, where it has one; nil
	// stands for Pod.Status. The conditions of others and the readiness of
	// containers older than the agent are taken from it. A mirror may be of an
	// earlier life of its pod: that it ended means nothing, and all else only
	// counts if it names an instance of a container that still exists.
	API *v1.PodStatus
	// Previous is the status that was said last, the result of an earlier
	// call; nil for the first call of a life, which goes on from what the API
	// server has.
	Previous *v1.PodStatus
	// Observed is what the runtime sees; nil is a pod that it does not know.
	Observed *runtime.PodStatus

	// RuntimeName is put before container IDs: "process" makes process://id.
	RuntimeName string
	// StartFailures are the last failed starts by container name, as the
	// runtime reported them; one without a Reason counts as none.
	StartFailures map[string]runtime.StartResult
	// Readiness and Startup are what is known of probes.
	Readiness, Startup Probing
	// AgentStarted is when this agent started; zero for no such time. A
	// container that ran before inherits its readiness from what was said of
	// it; one that ran 10 seconds before, of which nothing was said, from that
	// of the pod in API: no probe of this agent can have run on it.
	AgentStarted time.Time

	// Resize are the conditions PodResizePending and PodResizeInProgress, as far
	// as they hold; complete, with their generation and date. A pod that has
	// ended has none.
	Resize []v1.PodCondition
	// RestartAll is set while a RestartAllContainers rule is being carried
	// out and containers of the pod remain to be removed.
	RestartAll bool
	// Stopped is set once the pod is over for good: its containers were seen
	// stopped and none will be started.
	Stopped bool
	// Verdict is the sentence that was passed on the pod, nil for none. It is
	// applied to every status until the pod is gone.
	Verdict *Verdict

	// HostIPs are the addresses of the node, primary first. The family of the
	// first decides which pod IP is the primary one; without any it is IPv4.
	HostIPs []string
	// Now is the time of this computation.
	Now time.Time
}

// Probing is what is known of one kind of probe in a pod.
type Probing struct {
	// Workers names the containers that a worker probes, or will. A container
	// that nobody probes counts as ready, and as started, so a worker is to be
	// named here before its container's first status.
	Workers map[string]bool
	// Results are the published results by container ID, without type prefix.
	Results map[string]runtime.Verdict
}

// Verdict is a sentence on a pod: phase Failed, with this reason and message.
// Eviction, the active deadline, rejection and shutdown pass it; who passes it
// keeps it in the pod's record.
type Verdict struct {
	Reason  string
	Message string
	// Disruption is the message of the condition DisruptionTarget, which says
	// that the pod was ended by its node and not by itself; empty for a
	// verdict that sets none.
	Disruption string
}

// Result is a status and what goes with it. The caller owns it.
type Result struct {
	// Status is complete: normalised, with transition times and start time.
	Status v1.PodStatus
	// Changed tells that Status is not [Equal] to the previous one.
	Changed bool
	// Terminal tells that the phase is Succeeded or Failed: what still runs
	// of the pod is to be stopped, and nothing is to be started.
	Terminal bool
	// Verdict is the one to remember: that of the input, or a new one when
	// the pod has just passed its deadline.
	Verdict *Verdict
	// Events are those of this computation; a new verdict brings one.
	Events []runtime.Event
	// Ended names the regular containers that ended for good, for
	// [runtime.SyncRequest]: nil if there are none.
	Ended map[string]bool
	// Illegal is set when the runtime claims that a container runs again that
	// had ended for good. Of that one Status has what was said before.
	Illegal *IllegalTransition
}
