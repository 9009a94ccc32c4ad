package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

func walkSpecialChecks(ctx context.Context, p *page) error {
	p.intro(`Beside room there is what a node can do at all. Each of these checks is a small type:
		a host puts into its chain what it wants, or takes the kubelet's whole list.`)
	ask := func(handler admission.AdmitHandler, pod *v1.Pod, node *v1.Node) error {
		v, err := handler.Admit(ctx, admission.Request{Pod: pod, Node: node, OS: "linux"})
		if err != nil {
			return err
		}
		p.out("%s: %s", pod.Name, showVerdict(v))
		return nil
	}
	sysctl := func(name string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: name, Value: "1"}}}
		}
	}

	p.step("Sysctls", "admission.NewSysctls", "admission.Sysctls.Admit")
	sysctls, err := admission.NewSysctls(append(admission.SafeSysctls("6.1"), "net.core.*")...)
	if err != nil {
		return err
	}
	p.in(`allowed: the safe ones of Linux 6.1, and net.core.*
safe asks for net.ipv4.tcp_syncookies, unsafe for kernel.msgmax, the others for net.core.somaxconn`)
	for _, pod := range []*v1.Pod{
		newPod("safe", sysctl("net.ipv4.tcp_syncookies")),
		newPod("named", sysctl("net.core.somaxconn")),
		newPod("unsafe", sysctl("kernel.msgmax")),
		newPod("on-the-node's-network", sysctl("net.core.somaxconn"), func(p *v1.Pod) { p.Spec.HostNetwork = true }),
	} {
		if err := ask(sysctls, pod, nil); err != nil {
			return err
		}
	}
	p.why("One that is safe belongs to the pod alone. On the network of the node it would change that for all.")

	p.step("AppArmor", "admission.AppArmor.Admit")
	p.in("a node without AppArmor; confined asks for the profile RuntimeDefault")
	confined := newPod("confined", func(p *v1.Pod) {
		p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}}
	})
	appArmor := admission.AppArmor{Unavailable: admission.ErrAppArmorDisabled}
	for _, pod := range []*v1.Pod{newPod("plain"), confined} {
		if err := ask(appArmor, pod, nil); err != nil {
			return err
		}
	}
	p.why("A promise that can't be kept is refused, not dropped.")

	p.step("The operating system", "admission.OSField.Admit")
	p.in("a node of linux; windows has spec.os.name windows")
	windows := newPod("windows", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} })
	if err := ask(admission.OSField{}, windows, newNode("pods", "1")); err != nil {
		return err
	}

	p.step("All of the kubelet's, in its order", "admission.KubeletChecks")
	t := &table{}
	for i, c := range admission.KubeletChecks(admission.Kubelet{Sysctls: sysctls, AppArmor: appArmor}) {
		t.row(i+1, c.Name)
	}
	p.out("%s", t)
	p.why("The first one that refuses gives the Reason. All are asked, so that a person sees everything.")
	return nil
}
