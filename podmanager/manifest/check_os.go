package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// os checks the name of the operating system, and that the pod asks for nothing
// that this system does not have.
func (c *checker) os(spec *field.Path) {
	c.hostProcess(spec)
	if c.spec.OS == nil {
		return
	}
	oneOf(c, spec.Child("os", "name"), c.spec.OS.Name, v1.Linux, v1.Windows)
	switch c.spec.OS.Name {
	case v1.Linux:
		c.notOnLinux(spec)
	case v1.Windows:
		c.notOnWindows(spec)
	}
}

// absent forbids what is set.
func (c *checker) absent(path *field.Path, os v1.OSName, set map[string]bool) {
	for _, name := range sortedKeys(set) {
		if set[name] {
			c.forbidden(path.Child(name), "cannot be set for a "+string(os)+" pod")
		}
	}
}

func (c *checker) notOnLinux(spec *field.Path) {
	c.absent(spec.Child("securityContext"), v1.Linux, map[string]bool{"windowsOptions": c.spec.SecurityContext.WindowsOptions != nil})
	c.eachSecurityContext(spec, func(path *field.Path, s *v1.SecurityContext) {
		c.absent(path, v1.Linux, map[string]bool{"windowsOptions": s.WindowsOptions != nil})
	})
}

func (c *checker) notOnWindows(spec *field.Path) {
	c.absent(spec, v1.Windows, map[string]bool{
		"hostPID":               c.spec.HostPID,
		"hostIPC":               c.spec.HostIPC,
		"hostUsers":             c.spec.HostUsers != nil,
		"shareProcessNamespace": c.spec.ShareProcessNamespace != nil,
		"resources":             c.spec.Resources != nil,
	})
	s := c.spec.SecurityContext
	c.absent(spec.Child("securityContext"), v1.Windows, map[string]bool{
		"appArmorProfile":          s.AppArmorProfile != nil,
		"fsGroup":                  s.FSGroup != nil,
		"fsGroupChangePolicy":      s.FSGroupChangePolicy != nil,
		"runAsGroup":               s.RunAsGroup != nil,
		"runAsUser":                s.RunAsUser != nil,
		"seLinuxChangePolicy":      s.SELinuxChangePolicy != nil,
		"seLinuxOptions":           s.SELinuxOptions != nil,
		"seccompProfile":           s.SeccompProfile != nil,
		"supplementalGroups":       s.SupplementalGroups != nil,
		"supplementalGroupsPolicy": s.SupplementalGroupsPolicy != nil,
		"sysctls":                  len(s.Sysctls) > 0,
	})
	c.eachSecurityContext(spec, func(path *field.Path, s *v1.SecurityContext) {
		c.absent(path, v1.Windows, map[string]bool{
			"allowPrivilegeEscalation": s.AllowPrivilegeEscalation != nil,
			"appArmorProfile":          s.AppArmorProfile != nil,
			"capabilities":             s.Capabilities != nil,
			"privileged":               s.Privileged != nil,
			"procMount":                s.ProcMount != nil,
			"readOnlyRootFilesystem":   s.ReadOnlyRootFilesystem != nil,
			"runAsGroup":               s.RunAsGroup != nil,
			"runAsUser":                s.RunAsUser != nil,
			"seLinuxOptions":           s.SELinuxOptions != nil,
			"seccompProfile":           s.SeccompProfile != nil,
		})
	})
}

func (c *checker) eachSecurityContext(spec *field.Path, check func(*field.Path, *v1.SecurityContext)) {
	lists := []struct {
		name string
		list []v1.Container
	}{{"initContainers", c.spec.InitContainers}, {"containers", c.spec.Containers}}
	for _, l := range lists {
		for i := range l.list {
			if s := l.list[i].SecurityContext; s != nil {
				check(spec.Child(l.name).Index(i).Child("securityContext"), s)
			}
		}
	}
}
