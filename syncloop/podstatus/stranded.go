package podstatus

import "github.com/kubeparts/kubeparts/runtime"

// What is said of a pod that lost its sandbox and gets no other.
const (
	ReasonSandboxLost  = "SandboxLost"
	messageSandboxLost = "The sandbox of the pod is gone and its restart policy allows no other, but not all containers have run to their end"
)

// Stranded passes the verdict on a pod that can't go on: nothing of it runs, its
// sandbox is lost, and its restart policy is Never, so that what has not begun never
// will. It is nil for every other pod, and not to be asked for one whose status is
// terminal. The kubelet leaves such a pod Pending for ever, and whoever waits for it
// waits in vain. Of the input it uses Pod, Observed and RestartAll.
func Stranded(in Input) *Verdict {
	if in.RestartAll || in.Observed.Running() || !runtime.SandboxLost(in.Pod, in.Observed) {
		return nil
	}
	return &Verdict{Reason: ReasonSandboxLost, Message: messageSandboxLost}
}
