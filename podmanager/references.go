package podmanager

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Reference is an object that a pod names.
type Reference struct {
	ObjectRef
	// Optional is set when every place that names the object can do without, as
	// pulling images can.
	Optional bool
}

// References returns the ConfigMaps and Secrets that a pod names: in the
// environment of its containers of every sort, in its volumes, also projected
// ones and those whose driver needs a secret, and to pull images. Each is there
// once, in order of kind, namespace and name; empty names are passed over. It is
// pure, and its cost is the pod's size.
func References(pod *v1.Pod) []Reference {
	r := references{namespace: pod.Namespace}
	for i := range pod.Spec.ImagePullSecrets {
		r.add(KindSecret, pod.Spec.ImagePullSecrets[i].Name, true)
	}
	for i := range pod.Spec.InitContainers {
		r.environment(pod.Spec.InitContainers[i].EnvFrom, pod.Spec.InitContainers[i].Env)
	}
	for i := range pod.Spec.Containers {
		r.environment(pod.Spec.Containers[i].EnvFrom, pod.Spec.Containers[i].Env)
	}
	for i := range pod.Spec.EphemeralContainers {
		r.environment(pod.Spec.EphemeralContainers[i].EnvFrom, pod.Spec.EphemeralContainers[i].Env)
	}
	for i := range pod.Spec.Volumes {
		r.volume(&pod.Spec.Volumes[i].VolumeSource)
	}
	return r.sorted()
}

// references collects; it holds an object as often as the pod names it.
type references struct {
	namespace string
	list      []Reference
}

func (r *references) add(kind ObjectKind, name string, optional bool) {
	if name != "" {
		r.list = append(r.list, Reference{ObjectRef{kind, r.namespace, name}, optional})
	}
}

func (r *references) environment(from []v1.EnvFromSource, env []v1.EnvVar) {
	for i := range from {
		if ref := from[i].ConfigMapRef; ref != nil {
			r.add(KindConfigMap, ref.Name, isTrue(ref.Optional))
		}
		if ref := from[i].SecretRef; ref != nil {
			r.add(KindSecret, ref.Name, isTrue(ref.Optional))
		}
	}
	for i := range env {
		if env[i].ValueFrom == nil {
			continue
		}
		if ref := env[i].ValueFrom.ConfigMapKeyRef; ref != nil {
			r.add(KindConfigMap, ref.Name, isTrue(ref.Optional))
		}
		if ref := env[i].ValueFrom.SecretKeyRef; ref != nil {
			r.add(KindSecret, ref.Name, isTrue(ref.Optional))
		}
	}
}

func (r *references) volume(s *v1.VolumeSource) {
	switch {
	case s.ConfigMap != nil:
		r.add(KindConfigMap, s.ConfigMap.Name, isTrue(s.ConfigMap.Optional))
	case s.Secret != nil:
		r.add(KindSecret, s.Secret.SecretName, isTrue(s.Secret.Optional))
	case s.Projected != nil:
		for i := range s.Projected.Sources {
			if p := s.Projected.Sources[i].ConfigMap; p != nil {
				r.add(KindConfigMap, p.Name, isTrue(p.Optional))
			}
			if p := s.Projected.Sources[i].Secret; p != nil {
				r.add(KindSecret, p.Name, isTrue(p.Optional))
			}
		}
	default:
		r.driver(s)
	}
}

// driver adds the secret that the driver of a volume needs.
func (r *references) driver(s *v1.VolumeSource) {
	local := func(ref *v1.LocalObjectReference) {
		if ref != nil {
			r.add(KindSecret, ref.Name, false)
		}
	}
	switch {
	case s.AzureFile != nil:
		r.add(KindSecret, s.AzureFile.SecretName, false)
	case s.CephFS != nil:
		local(s.CephFS.SecretRef)
	case s.Cinder != nil:
		local(s.Cinder.SecretRef)
	case s.CSI != nil:
		local(s.CSI.NodePublishSecretRef)
	case s.FlexVolume != nil:
		local(s.FlexVolume.SecretRef)
	case s.ISCSI != nil:
		local(s.ISCSI.SecretRef)
	case s.RBD != nil:
		local(s.RBD.SecretRef)
	case s.ScaleIO != nil:
		local(s.ScaleIO.SecretRef)
	case s.StorageOS != nil:
		local(s.StorageOS.SecretRef)
	}
}

// sorted returns each object once; one that is needed somewhere is needed.
func (r *references) sorted() []Reference {
	slices.SortFunc(r.list, func(a, b Reference) int {
		if order := compareRefs(a.ObjectRef, b.ObjectRef); order != 0 || a.Optional == b.Optional {
			return order
		}
		if a.Optional {
			return 1
		}
		return -1
	})
	return slices.CompactFunc(r.list, func(a, b Reference) bool { return a.ObjectRef == b.ObjectRef })
}

func compareRefs(a, b ObjectRef) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func isTrue(b *bool) bool { return b != nil && *b }
