package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
)

// memoryLeft is an observation of a node of 8 GiB.
func memoryLeft(mib int64, at time.Time) []eviction.Observation {
	return []eviction.Observation{{Signal: eviction.MemoryAvailable, Available: mib << 20, Capacity: 8 << 30, Time: at}}
}

// using says what memory a pod takes.
func using(pods *eviction.Pods, name string, mib uint64) {
	bytes := mib << 20
	pods.Measure(types.UID("uid-"+name), &eviction.PodStats{Memory: &eviction.MemoryStats{WorkingSetBytes: &bytes}})
}

// showRound prints what a round decides.
func showRound(out eviction.Outcome) string {
	t := &table{}
	t.row("conditions", fmt.Sprint(out.Conditions))
	for _, v := range append(out.Over, victims(out)...) {
		t.row("evict", v.Pod.Name+", with "+v.Grace().String())
		t.row("message", strings.TrimSpace(v.Message))
	}
	for _, e := range out.Events {
		t.row("event", e.Reason+": "+e.Message)
	}
	for _, p := range out.Problems {
		t.row("problem", string(p.Signal)+": "+p.Text)
	}
	return t.String()
}

func victims(out eviction.Outcome) []eviction.Victim {
	if out.Victim == nil {
		return nil
	}
	return []eviction.Victim{*out.Victim}
}

func showRanking(places []eviction.Place) string {
	t := &table{}
	for _, p := range places {
		t.row(p.Pod.Name, p.Reason)
	}
	return t.String()
}

func walkEviction(_ context.Context, p *page) error {
	p.intro(`When the node runs short, one pod a round must go. Evaluate decides it from
		values alone; a Manager measures, and carries it out.`)
	policy, err := eviction.Settings{
		Hard: map[string]string{"memory.available": "500Mi"}, Soft: map[string]string{"memory.available": "1Gi"},
		SoftGracePeriod: map[string]string{"memory.available": "1m30s"}, MaxPodGracePeriod: 10,
	}.Policy()
	if err != nil {
		return err
	}
	pods := eviction.PodsOf(newPod("web", requests("memory", "2Gi")), newPod("batch", requests("memory", "100Mi")),
		newPod("shop", requests("memory", "100Mi"), priority(1000)), newPod("proxy", static))
	using(pods, "web", 1800)
	using(pods, "batch", 300)
	using(pods, "shop", 900)
	using(pods, "proxy", 3000)
	in := eviction.Input{Policy: policy, Pods: pods, Observations: memoryLeft(900, noon), Now: noon}

	p.step("A soft threshold is met", "eviction.Evaluate")
	p.in("900Mi of 8Gi left; hard below 500Mi, soft below 1Gi for 1m30s")
	out := eviction.Evaluate(in)
	p.out("%s", showRound(out))
	p.why("The condition is there at once: no BestEffort pod comes in. Nobody goes before the grace period is over.")

	p.step("And still is, after its grace period", "eviction.Evaluate")
	at := noon.Add(90 * time.Second)
	in.State, in.Now, in.Observations = out.State, at, memoryLeft(900, at)
	out = eviction.Evaluate(in)
	p.out("%s", showRound(out))
	p.why("For a soft threshold the pod gets its own grace, but no more than the maximum of 10 s; for a hard one a second.")

	p.step("Who would go, in which order, and why", "eviction.Outcome.Ranking")
	p.out("%s", showRanking(out.Ranking()))
	p.why(`First who uses more than was asked for, then the lower priority, then the larger
		excess. Static, mirror and critical pods stay, however much they use. The order
		is computed only if somebody asks for it.`)

	p.step("The same sample twice", "eviction.Evaluate")
	in.State, in.Now = out.State, at.Add(time.Second)
	out = eviction.Evaluate(in)
	p.out("%s", showRound(out))
	p.why("The victim needs a moment to give its memory back. Nobody else goes upon a sample that was acted upon.")

	p.step("An observation that can't be", "eviction.Observation.Possible")
	at = at.Add(10 * time.Second)
	in.State, in.Now, in.Observations = out.State, at, memoryLeft(-2, at)
	p.in("-2Mi of 8Gi left")
	out = eviction.Evaluate(in)
	p.out("%s", showRound(out))
	p.why("It is told, and nobody goes (kubernetes/kubernetes#52386). The condition outlasts its cause by the transition period.")

	p.step("Nobody may go", "eviction.Evaluate", "eviction.Stuck")
	for _, name := range []string{"web", "batch", "shop"} {
		pods.Remove(types.UID("uid-" + name))
	}
	at = at.Add(10 * time.Second)
	in.State, in.Now, in.Observations = out.State, at, memoryLeft(100, at)
	out = eviction.Evaluate(in)
	p.in("100Mi of 8Gi left, and proxy alone")
	p.out("%s", showRound(out))
	p.why("It is said once, and is in the manager's Health as long as it lasts.")

	p.step("A pod over a limit of its own", "eviction.Evaluate", "eviction.Outcome")
	limit := resource.MustParse("1Mi")
	scratch := newPod("scratch", func(pod *v1.Pod) {
		pod.Spec.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &limit}}}}
	})
	pods = eviction.PodsOf(scratch)
	used := uint64(5 << 20)
	pods.Measure(scratch.UID, &eviction.PodStats{Volumes: []eviction.VolumeStats{{Name: "tmp", FsStats: eviction.FsStats{UsedBytes: &used}}}})
	p.in("6Gi of 8Gi left; scratch has 5Mi in an emptyDir of 1Mi")
	p.out("%s", showRound(eviction.Evaluate(eviction.Input{Policy: policy, Pods: pods, Observations: memoryLeft(6<<10, noon), Now: noon})))
	p.why("It goes whatever the pressure, and with it all others that are over theirs.")
	return nil
}
