package manifest

import (
	v1 "k8s.io/api/core/v1"
)

// Annotations of times before init containers were a field; the API drops them.
var initContainerAnnotations = []string{
	"pod.alpha.kubernetes.io/init-containers",
	"pod.beta.kubernetes.io/init-containers",
	"pod.alpha.kubernetes.io/init-container-statuses",
	"pod.beta.kubernetes.io/init-container-statuses",
}

// normalise writes fields that the API knows in two forms into both.
func normalise(pod *v1.Pod) {
	spec, status := &pod.Spec, &pod.Status
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName

	// The one IP wins over the list where the two disagree.
	if status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP) {
		status.PodIPs = []v1.PodIP{{IP: status.PodIP}}
	}
	if len(status.PodIPs) > 0 {
		status.PodIP = status.PodIPs[0].IP
	}

	for _, key := range initContainerAnnotations {
		delete(pod.Annotations, key)
	}
}
