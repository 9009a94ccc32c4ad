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
	if out.RunAsUser == nil {
		out.RunAsUser = base.RunAsUser
	}
	if out.RunAsGroup == nil {
		out.RunAsGroup = base.RunAsGroup
	}
	if out.RunAsNonRoot == nil {
		out.RunAsNonRoot = base.RunAsNonRoot
	}
	if out.SELinuxOptions == nil {
		out.SELinuxOptions = base.SELinuxOptions
	}
	if out.SeccompProfile == nil {
		out.SeccompProfile = base.SeccompProfile
	}
	if out.AppArmorProfile == nil {
		out.AppArmorProfile = base.AppArmorProfile
	}
	if out.WindowsOptions == nil {
		out.WindowsOptions = base.WindowsOptions
	}
	return out
}
