package manifest

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The annotations that named security profiles before they were fields.
const (
	annotationSeccompPod    = "seccomp.security.alpha.kubernetes.io/pod"
	annotationSeccompPrefix = "container.seccomp.security.alpha.kubernetes.io/"
	annotationArmorPrefix   = "container.apparmor.security.beta.kubernetes.io/"

	profileDefault    = "runtime/default"
	profileUnconfined = "unconfined"
	profileLocal      = "localhost/"
)

func (c *checker) seccompAnnotation(path *field.Path, profile string) {
	switch profile {
	case profileDefault, "docker/default", profileUnconfined:
		return
	}
	if local, ok := strings.CutPrefix(profile, profileLocal); ok {
		c.descending(path, local)
		return
	}
	c.invalid(path, profile, "must be a valid seccomp profile")
}

// armorAnnotation checks the profile of one container, which must not
// contradict the field.
func (c *checker) armorAnnotation(path *field.Path, name, profile string) {
	container := c.containerNamed(name)
	if container == nil {
		c.invalid(path, name, "container not found")
	}
	if profile != "" && profile != profileDefault && profile != profileUnconfined && !strings.HasPrefix(profile, profileLocal) {
		c.invalid(path, profile, "invalid AppArmor profile name")
		return
	}
	if container == nil || container.SecurityContext == nil || container.SecurityContext.AppArmorProfile == nil {
		return
	}
	if armorText(container.SecurityContext.AppArmorProfile) != profile {
		c.forbidden(path, "the AppArmor profile must match that of the container's securityContext")
	}
}

// armorText is what the annotation says for a profile.
func armorText(profile *v1.AppArmorProfile) string {
	switch {
	case profile.Type == v1.AppArmorProfileTypeRuntimeDefault:
		return profileDefault
	case profile.Type == v1.AppArmorProfileTypeUnconfined:
		return profileUnconfined
	case profile.LocalhostProfile != nil:
		return profileLocal + *profile.LocalhostProfile
	default:
		return ""
	}
}

func (c *checker) containerNamed(name string) *v1.Container {
	for container := range containers(c.spec) {
		if container.Name == name {
			return container
		}
	}
	return nil
}
