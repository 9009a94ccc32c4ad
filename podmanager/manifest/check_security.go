package manifest

import (
	"fmt"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxSysctlName   = 253
	maxArmorProfile = 4095
)

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// podSecurity checks what the pod shares with the host, and the security
// context of the whole pod.
func (c *checker) podSecurity(spec *field.Path) {
	c.hostNamespaces(spec)
	security, path := c.spec.SecurityContext, spec.Child("securityContext")
	c.user(path.Child("runAsUser"), security.RunAsUser)
	c.group(path.Child("runAsGroup"), security.RunAsGroup)
	c.group(path.Child("fsGroup"), security.FSGroup)
	for i := range security.SupplementalGroups {
		c.group(path.Child("supplementalGroups").Index(i), &security.SupplementalGroups[i])
	}
	optionalOneOf(c, path.Child("fsGroupChangePolicy"), security.FSGroupChangePolicy, v1.FSGroupChangeOnRootMismatch, v1.FSGroupChangeAlways)
	optionalOneOf(c, path.Child("supplementalGroupsPolicy"), security.SupplementalGroupsPolicy,
		v1.SupplementalGroupsPolicyMerge, v1.SupplementalGroupsPolicyStrict)
	optionalOneOf(c, path.Child("seLinuxChangePolicy"), security.SELinuxChangePolicy,
		v1.SELinuxChangePolicyRecursive, v1.SELinuxChangePolicyMountOption)
	c.sysctls(path.Child("sysctls"), security.Sysctls)
	c.seccomp(path.Child("seccompProfile"), security.SeccompProfile)
	c.appArmor(path.Child("appArmorProfile"), security.AppArmorProfile)
	c.windowsOptions(path.Child("windowsOptions"), security.WindowsOptions)
}

func (c *checker) hostNamespaces(spec *field.Path) {
	if c.spec.HostNetwork {
		c.hostNetworkPorts(spec)
	}
	if c.spec.HostPID && c.spec.ShareProcessNamespace != nil && *c.spec.ShareProcessNamespace {
		c.invalid(spec.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	if !c.ownUsers() {
		return
	}
	shared := map[string]bool{"hostNetwork": c.spec.HostNetwork, "hostPID": c.spec.HostPID, "hostIPC": c.spec.HostIPC}
	for _, name := range sortedKeys(shared) {
		if shared[name] {
			c.forbidden(spec.Child(name), "when `hostUsers` is false")
		}
	}
}

// ownUsers tells whether the pod has a user namespace of its own.
func (c *checker) ownUsers() bool { return c.spec.HostUsers != nil && !*c.spec.HostUsers }

func (c *checker) user(path *field.Path, id *int64) {
	if id != nil {
		c.invalid(path, *id, validation.IsValidUserID(*id)...)
	}
}

func (c *checker) group(path *field.Path, id *int64) {
	if id != nil {
		c.invalid(path, *id, validation.IsValidGroupID(*id)...)
	}
}

// sysctls of a namespace that the pod shares with the host would be the host's.
func (c *checker) sysctls(path *field.Path, sysctls []v1.Sysctl) {
	seen := map[string]bool{}
	for i, sysctl := range sysctls {
		path := path.Index(i).Child("name")
		if !c.present(path, sysctl.Name) {
			continue
		}
		if len(sysctl.Name) > maxSysctlName || !sysctlName.MatchString(sysctl.Name) {
			c.invalid(path, sysctl.Name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctlName, sysctlName))
		}
		name := dotted(sysctl.Name)
		c.unique(seen, path, name)
		if c.spec.HostNetwork && strings.HasPrefix(name, "net.") {
			c.invalid(path, sysctl.Name, "may not be specified when 'hostNetwork' is true")
		}
		if c.spec.HostIPC && ofIPC(name) {
			c.invalid(path, sysctl.Name, "may not be specified when 'hostIPC' is true")
		}
	}
}

// dotted writes a sysctl that is separated by slashes with dots.
func dotted(name string) string {
	if i := strings.IndexAny(name, "./"); i < 0 || name[i] == '.' {
		return name
	}
	return strings.NewReplacer("/", ".", ".", "/").Replace(name)
}

func ofIPC(name string) bool {
	return name == "kernel.sem" || strings.HasPrefix(name, "kernel.shm") ||
		strings.HasPrefix(name, "kernel.msg") || strings.HasPrefix(name, "fs.mqueue.")
}

func (c *checker) containerSecurity(path *field.Path, security *v1.SecurityContext) {
	if security == nil {
		return
	}
	c.user(path.Child("runAsUser"), security.RunAsUser)
	c.group(path.Child("runAsGroup"), security.RunAsGroup)
	c.seccomp(path.Child("seccompProfile"), security.SeccompProfile)
	c.appArmor(path.Child("appArmorProfile"), security.AppArmorProfile)
	c.windowsOptions(path.Child("windowsOptions"), security.WindowsOptions)
	optionalOneOf(c, path.Child("procMount"), security.ProcMount, v1.DefaultProcMount, v1.UnmaskedProcMount)
	if mount := security.ProcMount; mount != nil && *mount == v1.UnmaskedProcMount && !c.ownUsers() {
		c.invalid(path.Child("procMount"), *mount, "`hostUsers` must be false to use `Unmasked`")
	}
	if security.AllowPrivilegeEscalation == nil || *security.AllowPrivilegeEscalation {
		return
	}
	if security.Privileged != nil && *security.Privileged {
		c.invalid(path, "", "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
	}
	if security.Capabilities == nil {
		return
	}
	for _, capability := range security.Capabilities.Add {
		if capability == "CAP_SYS_ADMIN" {
			c.invalid(path, "", "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
}

func (c *checker) seccomp(path *field.Path, profile *v1.SeccompProfile) {
	if profile == nil {
		return
	}
	oneOf(c, path.Child("type"), profile.Type, v1.SeccompProfileTypeLocalhost, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeUnconfined)
	local, path := profile.LocalhostProfile, path.Child("localhostProfile")
	switch {
	case profile.Type != v1.SeccompProfileTypeLocalhost:
		if local != nil {
			c.invalid(path, *local, "can only be set when seccomp type is Localhost")
		}
	case local == nil:
		c.required(path, "must be set when seccomp type is Localhost")
	default:
		c.descending(path, *local)
	}
}

func (c *checker) appArmor(path *field.Path, profile *v1.AppArmorProfile) {
	if profile == nil {
		return
	}
	oneOf(c, path.Child("type"), profile.Type, v1.AppArmorProfileTypeLocalhost, v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined)
	local, path := profile.LocalhostProfile, path.Child("localhostProfile")
	if profile.Type != v1.AppArmorProfileTypeLocalhost {
		if local != nil {
			c.invalid(path, *local, "can only be set when AppArmor type is Localhost")
		}
		return
	}
	if local == nil || *local == "" {
		c.required(path, "must be set when AppArmor type is Localhost")
		return
	}
	if strings.TrimSpace(*local) != *local {
		c.invalid(path, *local, "must not be padded with whitespace")
	}
	if len(*local) > maxArmorProfile {
		c.add(field.TooLong(path, *local, maxArmorProfile))
	}
}
