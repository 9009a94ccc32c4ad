package probe

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Probe is one probe of a container.
type Probe struct {
	// Name tells the probes of a container apart. Those of a pod are called
	// like their kind; a host names its own, of kind Observe, as it likes.
	Name string
	Kind Kind
	Settings
	// Action is what an attempt does: exactly one of its handlers is set, or
	// none if the Prober knows by the name what to do.
	Action v1.ProbeHandler
}

// Container is a container that is to be probed, and what is known of it. It
// needs no v1.Pod; [PodContainers] makes those of one.
type Container struct {
	// Name of the container within its pod.
	Name string
	// Init tells that it is a sidecar, which events refer to differently.
	Init bool
	// IP is where network probes go that name no host; empty if there is no
	// address yet: they wait for one.
	IP string
	// Ports and Env of its spec, for actions that name a port or a variable.
	Ports []v1.ContainerPort
	Env   []v1.EnvVar
	// State is what is known of its instance. The startup probe opens the
	// gate by itself: Started need not be set except after a restart of the
	// agent. NoAddress is not looked at.
	State State
	// Probes of the container; of several with one name the last one counts.
	Probes []Probe
}

// Key names one probe.
type Key struct {
	Pod       runtime.PodRef
	Container string
	Probe     string
}

// String gives namespace/pod/container/probe, without a namespace that is empty.
func (k Key) String() string {
	return strings.TrimPrefix(k.Pod.Namespace+"/"+k.Pod.Name+"/"+k.Container+"/"+k.Probe, "/")
}
