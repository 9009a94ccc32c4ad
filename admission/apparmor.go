package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// ReasonAppArmor says that the pod's AppArmor profile can't be enforced here.
const ReasonAppArmor = "AppArmor"

// Errors that say why a host has no AppArmor, in the kubelet's words.
var (
	ErrAppArmorDisabled    = errors.New("AppArmor is not enabled on the host")
	ErrAppArmorNotCompiled = errors.New("binary not compiled for linux")
)

// AppArmor checks that a pod that wants a profile can have it. It looks at pods
// that are Pending; the profile of one that runs is in force already.
type AppArmor struct {
	// Unavailable is why this host can't enforce profiles; nil when it can. It
	// is found out once, when the agent starts.
	Unavailable error
}

// Class is PodAlone.
func (AppArmor) Class() Class { return PodAlone }

// Admit rejects a pod whose profile can't be enforced.
func (a AppArmor) Admit(_ context.Context, req Request) (Verdict, error) {
	if req.Pod.Status.Phase != v1.PodPending && req.Pod.Status.Phase != "" || !wantsAppArmor(req.Pod) {
		return Admitted(), nil
	}
	err := a.Unavailable
	if err == nil {
		err = checkProfiles(req.Pod)
	}
	if err != nil {
		return Rejected(ReasonAppArmor, fmt.Sprintf("Cannot enforce AppArmor: %v", err)), nil
	}
	return Admitted(), nil
}

func wantsAppArmor(pod *v1.Pod) bool {
	wanted := false
	eachProfile(pod, func(p *v1.AppArmorProfile) { wanted = wanted || p.Type != v1.AppArmorProfileTypeUnconfined })
	if wanted {
		return true
	}
	for name, value := range pod.Annotations {
		if strings.HasPrefix(name, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) &&
			value != v1.DeprecatedAppArmorBetaProfileNameUnconfined {
			return true
		}
	}
	return false
}

func checkProfiles(pod *v1.Pod) error {
	var err error
	eachProfile(pod, func(p *v1.AppArmorProfile) {
		name := ""
		if p.LocalhostProfile != nil {
			name = *p.LocalhostProfile
		}
		if err == nil && p.Type == v1.AppArmorProfileTypeLocalhost && strings.TrimSpace(name) == "" {
			err = fmt.Errorf("invalid empty AppArmor profile name: %q", name)
		}
	})
	return err
}

// eachProfile calls f for the profile of the pod and of each container that has
// one of its own.
func eachProfile(pod *v1.Pod, f func(*v1.AppArmorProfile)) {
	if sc := pod.Spec.SecurityContext; sc != nil && sc.AppArmorProfile != nil {
		f(sc.AppArmorProfile)
	}
	of := func(sc *v1.SecurityContext) {
		if sc != nil && sc.AppArmorProfile != nil {
			f(sc.AppArmorProfile)
		}
	}
	for i := range pod.Spec.InitContainers {
		of(pod.Spec.InitContainers[i].SecurityContext)
	}
	for i := range pod.Spec.Containers {
		of(pod.Spec.Containers[i].SecurityContext)
	}
	for i := range pod.Spec.EphemeralContainers {
		of(pod.Spec.EphemeralContainers[i].SecurityContext)
	}
}
