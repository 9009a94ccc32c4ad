package runtime

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// MinGrace is the least time that a container gets between being asked to end
// and being killed, whatever its grace.
const MinGrace = 2 * time.Second

// Grace returns how long a container may take to stop, hooks included: the
// pod's deletion grace, if it is being deleted; else that of the probe which is
// the reason, if it has its own; else the pod's; else [MinGrace]. A container of
// nil has no probes.
func Grace(pod *v1.Pod, container *v1.Container, reason KillReason) time.Duration { return 0 }

// StopOrder returns how to stop what runs of a pod: all containers at the same
// time, but a sidecar after the containers of the pod, and after the sidecars
// that come later in its spec. Containers that do not run are not in it and are
// not waited for; nor are plain init and ephemeral containers. A grace of zero
// gives each container its own ([Grace]); any other is given to all, and one
// below a second, which leaves no time for order, makes no one wait. A nil pod
// stops all at once.
func StopOrder(pod *v1.Pod, status *PodStatus, grace time.Duration) []Stop { return nil }
