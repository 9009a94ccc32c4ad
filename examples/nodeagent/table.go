package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubeparts/kubeparts/runtime"
)

// writeTable prints the pods as a person reads them, with what probes found wrong.
func writeTable(w io.Writer, pods []*v1.Pod, wrong map[types.UID]string, now time.Time) error {
	if len(pods) == 0 {
		_, err := fmt.Fprintln(w, "No pods.")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "NAMESPACE\tNAME\tREADY\tSTATUS\tRESTARTS\tAGE\tMESSAGE")
	for _, pod := range sorted(pods) {
		ready, total := readyContainers(pod)
		fmt.Fprintf(tw, "%s\t%s\t%d/%d\t%s\t%d\t%s\t%s\n", pod.Namespace, pod.Name, ready, total,
			oneLine(statusWord(pod)), restarts(pod), age(pod, now), message(pod, wrong[pod.UID]))
	}
	return tw.Flush()
}

func sorted(pods []*v1.Pod) []*v1.Pod {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name+"/"+string(a.UID), b.Namespace+"/"+b.Name+"/"+string(b.UID))
	})
	return pods
}

// readyContainers counts as kubectl does: sidecars are containers, too.
func readyContainers(pod *v1.Pod) (ready, total int) {
	for _, c := range lasting(pod) {
		if c.Ready {
			ready++
		}
	}
	total = len(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if runtime.IsSidecar(&c) {
			total++
		}
	}
	return ready, total
}

// restarts counts as kubectl does: those of init containers while these run.
func restarts(pod *v1.Pod) (n int32) {
	counted := lasting(pod)
	if pod.Status.Phase == v1.PodPending {
		counted = slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	}
	for _, c := range counted {
		n += c.RestartCount
	}
	return n
}

// lasting are the statuses of the containers that stay: the regular ones and sidecars.
func lasting(pod *v1.Pod) []v1.ContainerStatus {
	list := slices.Clone(pod.Status.ContainerStatuses)
	for _, s := range pod.Status.InitContainerStatuses {
		if slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == s.Name && runtime.IsSidecar(&c) }) {
			list = append(list, s)
		}
	}
	return list
}

// statusWord is the one word that tells most: that it is being stopped, why it failed, what its
// first troubled container waits for, how far its init containers are, or else
// its phase.
func statusWord(pod *v1.Pod) string {
	if stopping(pod) {
		return "Terminating"
	}
	if pod.Status.Reason != "" {
		return pod.Status.Reason
	}
	done := 0
	for _, c := range pod.Status.InitContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			return "Init:" + c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0, c.Ready, c.Started != nil && *c.Started:
			done++
		case c.State.Terminated != nil:
			return "Init:Error"
		}
	}
	if n := len(pod.Spec.InitContainers); pod.Status.Phase == v1.PodPending && n > 0 && done < n {
		return fmt.Sprintf("Init:%d/%d", done, n)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return w.Reason
		}
	}
	if pod.Status.Phase == v1.PodSucceeded {
		return "Completed"
	}
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return "Error"
		}
	}
	if pod.Status.Phase == "" {
		return string(v1.PodPending)
	}
	return string(pod.Status.Phase)
}

// stopping tells whether a pod is on its way to the end. Its status may be ahead of it:
// what becomes of one that is evicted or shut down is certain before it has stopped.
func stopping(pod *v1.Pod) bool {
	ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
	return pod.DeletionTimestamp != nil && (!ended || slices.ContainsFunc(lasting(pod), func(c v1.ContainerStatus) bool {
		return c.State.Running != nil
	}))
}

// message is the sentence behind the status word, where there is one, or else
// what a probe found wrong.
func message(pod *v1.Pod, wrong string) string {
	text := pod.Status.Message
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if text == "" && c.State.Waiting != nil {
			text = whyWaiting(&c)
		}
		if text == "" && c.State.Terminated != nil {
			text = c.State.Terminated.Message
		}
	}
	for _, c := range pod.Status.Conditions {
		if text != "" || c.Type == v1.PodReady || c.Type == v1.ContainersReady {
			continue
		}
		switch {
		case c.Type == v1.PodResizePending:
			text = "resize " + strings.ToLower(c.Reason) + ": " + c.Message
		case c.Status != v1.ConditionTrue:
			text = c.Message
		}
	}
	if text == "" {
		text = wrong
	}
	const longest = 90
	if text = oneLine(text); len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

func age(pod *v1.Pod, now time.Time) string {
	if pod.Status.StartTime == nil {
		return "-"
	}
	return duration.HumanDuration(max(now.Sub(pod.Status.StartTime.Time), 0))
}

// whyWaiting says what a container waits for; of one that failed again and again, how
// it ended comes first, with the last line of its last words.
func whyWaiting(c *v1.ContainerStatus) string {
	waits, last := c.State.Waiting, c.LastTerminationState.Terminated
	if waits.Reason != runtime.ReasonCrashLoopBackOff || last == nil {
		return waits.Message
	}
	text := fmt.Sprintf("exited with %d", last.ExitCode)
	if words := strings.TrimSpace(last.Message); words != "" {
		text += ": " + words[strings.LastIndexByte(words, '\n')+1:]
	}
	return text + "; " + waits.Message
}
