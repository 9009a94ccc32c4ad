package main

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
)

func walkPressure(ctx context.Context, p *page) error {
	p.intro(`A node that runs short of something tells so by a condition, and keeps pods out
		until it is over. Which ones depends on what is short.`)
	var conditions []v1.NodeConditionType
	handler := eviction.NewAdmitHandler(func() []v1.NodeConditionType { return conditions })
	tolerant := newPod("tolerant", func(p *v1.Pod) {
		p.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists}}
	})
	pods := []*v1.Pod{newPod("besteffort"), tolerant, newPod("burstable", requests("memory", "1Mi")), newPod("critical", static)}
	ask := func(headline string, now ...v1.NodeConditionType) error {
		conditions = now
		p.step(headline, "eviction.AdmitHandler.Admit")
		var said []string
		for _, c := range now {
			said = append(said, string(c))
		}
		p.in("conditions: [%s]", strings.Join(said, " "))
		t := &table{}
		for _, pod := range pods {
			v, err := handler.Admit(ctx, admission.Request{Pod: pod})
			if err != nil {
				return err
			}
			t.row(pod.Name, showVerdict(v))
		}
		p.out("%s", t)
		return nil
	}

	if err := ask("Nothing is short"); err != nil {
		return err
	}
	p.why("Everybody may come in, as far as this check goes.")
	if err := ask("Memory alone is short", v1.NodeMemoryPressure); err != nil {
		return err
	}
	p.why(`Pods that have asked for some memory are no worse than those that run. BestEffort
		ones, which may take any amount, stay out, unless they tolerate the taint.`)
	if err := ask("The disk is short too", v1.NodeMemoryPressure, v1.NodeDiskPressure); err != nil {
		return err
	}
	p.why("Whatever a pod asks for, it writes something. Only critical ones come in.")

	p.step("What makes a pod critical?", "admission.WhyCritical", "admission.IsLegacyCritical")
	t := &table{}
	t.row("pod", "now", "until Kubernetes 1.15")
	for _, c := range []struct {
		name string
		pod  *v1.Pod
	}{
		{"static", newPod("static", static)},
		{"priority 2000000000", newPod("vital", priority(admission.CriticalPriority))},
		{"priority 1999999999", newPod("high", priority(admission.CriticalPriority-1))},
		{"annotation, kube-system", newPod("old", func(p *v1.Pod) {
			p.Namespace = "kube-system"
			p.Annotations = map[string]string{"scheduler.alpha.kubernetes.io/critical-pod": ""}
		})},
	} {
		t.row(c.name, yes(admission.IsCritical(c.pod)), yes(admission.IsLegacyCritical(c.pod)))
	}
	p.out("%s", t)
	p.why("A host that wants the old rule gives it to the handler and to the chain.")
	return nil
}

func yes(b bool) string {
	if b {
		return "critical"
	}
	return "-"
}
