package process

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Ignored names the fields that the pod sets and that have no effect on local
// processes, sorted: it is for one event to the user. The pod is not written to.
func Ignored(pod *v1.Pod) []string {
	spec := &pod.Spec
	var fields []string
	note := func(when bool, name string) {
		if when {
			fields = append(fields, name)
		}
	}
	note(spec.Hostname != "" || spec.Subdomain != "" || spec.SetHostnameAsFQDN != nil, "hostname")
	note(spec.DNSConfig != nil, "dnsConfig")
	note(spec.DNSPolicy != "" && spec.DNSPolicy != v1.DNSClusterFirst && spec.DNSPolicy != v1.DNSDefault, "dnsPolicy")
	note(len(spec.HostAliases) > 0, "hostAliases")
	note(spec.RuntimeClassName != nil, "runtimeClassName")
	note(spec.Resources != nil && len(spec.Resources.Limits) > 0, "resources.limits")
	note(len(spec.ImagePullSecrets) > 0, "imagePullSecrets")
	for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			note(c.Image != "", "containers.image")
			note(len(c.Resources.Limits) > 0, "containers.resources.limits")
			note(c.Stdin || c.StdinOnce, "containers.stdin")
			note(c.TTY, "containers.tty")
			note(len(c.VolumeMounts) > 0, "containers.volumeMounts.mountPath")
			note(slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.ReadOnly }),
				"containers.volumeMounts.readOnly")
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}
