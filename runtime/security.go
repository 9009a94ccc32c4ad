package runtime

import v1 "k8s.io/api/core/v1"

// SecurityContext lays a container's security context over its pod's. The result
// is never nil and may share memory with either.
func SecurityContext(pod *v1.Pod, c *v1.Container) *v1.SecurityContext {
	out := &v1.SecurityContext{}
	if c.SecurityContext != nil {
		*out = *c.SecurityContext
	}
	base := pod.Spec.SecurityContext
	if base == nil {
		return out
	}
	inherit(&out.RunAsUser, base.RunAsUser)
	inherit(&out.RunAsGroup, base.RunAsGroup)
	inherit(&out.RunAsNonRoot, base.RunAsNonRoot)
	inherit(&out.SELinuxOptions, base.SELinuxOptions)
	inherit(&out.SeccompProfile, base.SeccompProfile)
	inherit(&out.AppArmorProfile, base.AppArmorProfile)
	inherit(&out.WindowsOptions, base.WindowsOptions)
	return out
}

// inherit gives a field that says nothing what the pod says.
func inherit[T any](own **T, pods *T) {
	if *own == nil {
		*own = pods
	}
}
