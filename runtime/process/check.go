package process

import (
	"fmt"
	"os"
	goruntime "runtime"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeparts/kubeparts/runtime"
)

// ReasonUnsupported is the Reason to reject a pod with that [Check] refuses.
const ReasonUnsupported = "UnsupportedByProcess"

// Agent is whom the agent runs as. It decides which users its processes can
// have.
type Agent struct{ UID, GID int }

// Self returns this process's [Agent].
func Self() Agent { return Agent{UID: os.Geteuid(), GID: os.Getegid()} }

// Check says which fields of the pod this backend can't honour, nil for none.
// They are promises to the user, such as a read-only root or another user than
// the agent may change to; a pod that relies on them must not run without. What
// is merely without effect here is told by [Ignored]. The pod is not written to.
func Check(pod *v1.Pod, agent Agent) field.ErrorList {
	spec := field.NewPath("spec")
	errs := checkPod(pod, agent, spec)
	for i := range pod.Spec.InitContainers {
		errs = append(errs, checkContainer(pod, &pod.Spec.InitContainers[i], agent, spec.Child("initContainers").Index(i))...)
	}
	for i := range pod.Spec.Containers {
		errs = append(errs, checkContainer(pod, &pod.Spec.Containers[i], agent, spec.Child("containers").Index(i))...)
	}
	return errs
}

func checkPod(pod *v1.Pod, agent Agent, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	if pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers {
		errs = append(errs, field.Forbidden(spec.Child("hostUsers"), "local processes have no user namespace"))
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("resourceClaims"), "local processes get no devices"))
	}
	if pod.Spec.SecurityContext != nil {
		errs = append(errs, checkGroups(pod.Spec.SecurityContext, agent, spec.Child("securityContext"))...)
	}
	return errs
}

// checkGroups checks what only a pod's security context has.
func checkGroups(sc *v1.PodSecurityContext, agent Agent, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(sc.Sysctls) > 0 {
		errs = append(errs, field.Forbidden(path.Child("sysctls"), "local processes share the machine's"))
	}
	if agent.UID == 0 {
		return errs
	}
	if len(sc.SupplementalGroups) > 0 {
		errs = append(errs, needsRoot(path.Child("supplementalGroups"), agent))
	}
	if sc.FSGroup != nil && *sc.FSGroup != int64(agent.GID) {
		errs = append(errs, needsRoot(path.Child("fsGroup"), agent))
	}
	return errs
}

func checkContainer(pod *v1.Pod, c *v1.Container, agent Agent, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(c.Command) == 0 {
		errs = append(errs, field.Required(path.Child("command"), "a local process has no image to take its command from"))
	}
	if len(c.VolumeDevices) > 0 {
		errs = append(errs, field.Forbidden(path.Child("volumeDevices"), "local processes get no devices"))
	}
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		if _, ok := signalNumber(string(*c.Lifecycle.StopSignal)); !ok {
			errs = append(errs, field.Invalid(path.Child("lifecycle", "stopSignal"), *c.Lifecycle.StopSignal, "unknown signal"))
		}
	}
	return append(errs, checkSecurity(runtime.SecurityContext(pod, c), agent, path.Child("securityContext"))...)
}

// checkSecurity checks a container's security context, laid over its pod's.
func checkSecurity(sc *v1.SecurityContext, agent Agent, path *field.Path) field.ErrorList {
	errs := checkUser(sc, agent, path)
	root := userOf(sc, agent) == 0
	refuse := func(when bool, name, why string) {
		if when {
			errs = append(errs, field.Forbidden(path.Child(name), why))
		}
	}
	isSet := func(b *bool) bool { return b != nil && *b }

	refuse(isSet(sc.Privileged) && !root, "privileged", "only a process of root's is privileged")
	refuse(isSet(sc.ReadOnlyRootFilesystem), "readOnlyRootFilesystem", "local processes share the machine's files")
	refuse(sc.ProcMount != nil && *sc.ProcMount != v1.DefaultProcMount, "procMount", "local processes share the machine's /proc")
	refuse(sc.SeccompProfile != nil && sc.SeccompProfile.Type != v1.SeccompProfileTypeUnconfined,
		"seccompProfile", "local processes run unconfined")
	refuse(sc.AppArmorProfile != nil && sc.AppArmorProfile.Type != v1.AppArmorProfileTypeUnconfined,
		"appArmorProfile", "local processes run unconfined")
	refuse(sc.SELinuxOptions != nil && *sc.SELinuxOptions != v1.SELinuxOptions{}, "seLinuxOptions", "local processes run unconfined")
	refuse(sc.WindowsOptions != nil, "windowsOptions", "local processes are not supported on Windows")
	if caps := sc.Capabilities; caps != nil {
		refuse(len(caps.Add) > 0 && !root, "capabilities", "only a process of root's has capabilities")
		refuse(len(caps.Drop) > 0 && root, "capabilities", "a process of root's keeps its capabilities; set runAsUser")
	}
	refuse(noNewPrivileges(sc) && goruntime.GOOS != "linux", "allowPrivilegeEscalation", "can't be forbidden on "+goruntime.GOOS)
	return errs
}

func checkUser(sc *v1.SecurityContext, agent Agent, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if sc.RunAsUser != nil && !isID(*sc.RunAsUser) {
		errs = append(errs, field.Invalid(path.Child("runAsUser"), *sc.RunAsUser, "no user has this number"))
	} else if sc.RunAsUser != nil && agent.UID != 0 && *sc.RunAsUser != int64(agent.UID) {
		errs = append(errs, needsRoot(path.Child("runAsUser"), agent))
	}
	if sc.RunAsGroup != nil && !isID(*sc.RunAsGroup) {
		errs = append(errs, field.Invalid(path.Child("runAsGroup"), *sc.RunAsGroup, "no group has this number"))
	} else if sc.RunAsGroup != nil && agent.UID != 0 && *sc.RunAsGroup != int64(agent.GID) {
		errs = append(errs, needsRoot(path.Child("runAsGroup"), agent))
	}
	if sc.RunAsNonRoot != nil && *sc.RunAsNonRoot && userOf(sc, agent) == 0 {
		errs = append(errs, field.Forbidden(path.Child("runAsNonRoot"), "the process would run as root; set runAsUser"))
	}
	return errs
}

func needsRoot(path *field.Path, agent Agent) *field.Error {
	return field.Forbidden(path, fmt.Sprintf("needs root's rights; the agent runs as user %d, group %d", agent.UID, agent.GID))
}

func isID(n int64) bool { return n >= 0 && n < 1<<31 }

// userOf is the user that a container runs as.
func userOf(sc *v1.SecurityContext, agent Agent) int64 {
	if sc.RunAsUser != nil {
		return *sc.RunAsUser
	}
	return int64(agent.UID)
}

// noNewPrivileges tells whether the process must not gain rights by what it
// executes. To drop capabilities means no more than that for a user that has
// none.
func noNewPrivileges(sc *v1.SecurityContext) bool {
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		return true
	}
	return sc.Capabilities != nil && len(sc.Capabilities.Drop) > 0
}
