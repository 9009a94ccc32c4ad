package podruntime

// Labels and annotations of sandboxes and containers. All but the owner's are
// the kubelet's, so that crictl and other tools show the pods that they belong
// to.
const (
	// OwnerLabel holds Config.Owner, on sandboxes and containers.
	OwnerLabel = "kubeparts.io/owner"

	// PodNameLabel, PodNamespaceLabel and PodUIDLabel name the pod, on
	// sandboxes and containers.
	PodNameLabel      = "io.kubernetes.pod.name"
	PodNamespaceLabel = "io.kubernetes.pod.namespace"
	PodUIDLabel       = "io.kubernetes.pod.uid"
	// ContainerNameLabel is on containers alone.
	ContainerNameLabel = "io.kubernetes.container.name"

	// HashAnnotation holds runtime.ContainerHash, in hexadecimal.
	HashAnnotation = "io.kubernetes.container.hash"
	// RestartCountAnnotation holds how often the container was started before.
	RestartCountAnnotation = "io.kubernetes.container.restartCount"

	messagePathAnnotation    = "io.kubernetes.container.terminationMessagePath"
	messagePolicyAnnotation  = "io.kubernetes.container.terminationMessagePolicy"
	preStopAnnotation        = "io.kubernetes.container.preStopHandler"
	portsAnnotation          = "io.kubernetes.container.ports"
	podGraceAnnotation       = "io.kubernetes.pod.terminationGracePeriod"
	podDeletionGraceAnnotion = "io.kubernetes.pod.deletionGracePeriod"
)
