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
	spec := &pod.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName

	for _, key := range initContainerAnnotations {
		delete(pod.Annotations, key)
	}
}
