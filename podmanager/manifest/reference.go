package manifest

import (
	v1 "k8s.io/api/core/v1"
)

// apiReference is the first kind of API object that the pod refers to, empty
// when it needs none. A static pod may need none: the API may not be there when
// it runs, and its mirror would not be accepted. With objects, secrets and
// configmaps don't count.
func apiReference(pod *v1.Pod, objects bool) string {
	spec := &pod.Spec
	switch {
	case spec.ServiceAccountName != "":
		return "serviceaccounts"
	case !objects && refersToSecret(spec):
		return "secrets"
	case !objects && refersToConfigMap(spec):
		return "configmaps"
	case len(spec.ResourceClaims) > 0:
		return "resourceclaims"
	}
	for i := range spec.Volumes {
		if resource := volumeReference(&spec.Volumes[i].VolumeSource); resource != "" {
			return resource
		}
	}
	return ""
}

func refersToSecret(spec *v1.PodSpec) bool {
	if len(spec.ImagePullSecrets) > 0 {
		return true
	}
	for c := range containers(spec) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				return true
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				return true
			}
		}
	}
	for i := range spec.Volumes {
		if volumeSecret(&spec.Volumes[i].VolumeSource) {
			return true
		}
	}
	return false
}

// volumeSecret tells whether a volume's source names a secret, as its content
// or to reach its server.
func volumeSecret(s *v1.VolumeSource) bool {
	switch {
	case s.Secret != nil, s.AzureFile != nil:
		return true
	case s.CephFS != nil:
		return s.CephFS.SecretRef != nil
	case s.Cinder != nil:
		return s.Cinder.SecretRef != nil
	case s.FlexVolume != nil:
		return s.FlexVolume.SecretRef != nil
	case s.RBD != nil:
		return s.RBD.SecretRef != nil
	case s.ScaleIO != nil:
		return s.ScaleIO.SecretRef != nil
	case s.ISCSI != nil:
		return s.ISCSI.SecretRef != nil
	case s.StorageOS != nil:
		return s.StorageOS.SecretRef != nil
	case s.CSI != nil:
		return s.CSI.NodePublishSecretRef != nil
	case s.Projected != nil:
		for _, source := range s.Projected.Sources {
			if source.Secret != nil {
				return true
			}
		}
	}
	return false
}

func refersToConfigMap(spec *v1.PodSpec) bool {
	for c := range containers(spec) {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				return true
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.ConfigMapKeyRef != nil {
				return true
			}
		}
	}
	for _, volume := range spec.Volumes {
		if volume.ConfigMap != nil {
			return true
		}
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				if source.ConfigMap != nil {
					return true
				}
			}
		}
	}
	return false
}

// volumeReference is what else of the API a volume's source needs.
func volumeReference(s *v1.VolumeSource) string {
	switch {
	case s.CSI != nil:
		return "csidrivers (through a csi volume)"
	case s.Glusterfs != nil:
		return "endpoints (through a glusterfs volume)"
	case s.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims"
	case s.Ephemeral != nil:
		return "persistentvolumeclaims (through an ephemeral volume)"
	case s.Projected != nil:
		for _, source := range s.Projected.Sources {
			switch {
			case source.ServiceAccountToken != nil:
				return "serviceaccounts (through a projected volume)"
			case source.ClusterTrustBundle != nil:
				return "clustertrustbundles (through a projected volume)"
			case source.PodCertificate != nil:
				return "podcertificates (through a projected volume)"
			}
		}
	}
	return ""
}
