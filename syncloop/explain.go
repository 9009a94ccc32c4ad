package syncloop

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// Explanation says what the loop does for one pod, and why.
type Explanation struct {
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// Lines are sentences, in the order of the way of a pod: source,
	// admission, life, work, containers, conditions, probes, last error. They may hold
	// what a manifest's author or a process wrote: escape them for a terminal.
	Lines []string `json:"lines"`
}

// Explain says what is known of one pod, in words; false if the loop does not
// know it. It does not wait for the loop.
func (l *SyncLoop) Explain(uid types.UID) (Explanation, bool) {
	v, ok := l.Pod(uid)
	if !ok {
		return Explanation{}, false
	}
	now := time.Now()
	e := Explanation{Pod: v.PodRef.String(), UID: uid}
	for _, line := range []string{
		explainSource(v), l.explainTrouble(v, now), explainAdmission(v, now), explainLife(v, now), explainWork(v, now),
	} {
		if line != "" {
			e.Lines = append(e.Lines, line)
		}
	}
	for _, d := range l.doing(uid) {
		e.Lines = append(e.Lines, fmt.Sprintf("It waits for %s since %s.", d.What, ago(d.Since, now)))
	}
	e.Lines = append(e.Lines, explainStatus(v)...)
	e.Lines = append(e.Lines, l.explainProbes(uid)...)
	if v.LastError != nil {
		e.Lines = append(e.Lines, "Last error: "+v.LastError.Error())
	}
	return e, true
}

func explainSource(v *PodView) string {
	if v.Pod == nil {
		return fmt.Sprintf("Pod %s is known from the runtime alone: no source wants it.", v.PodRef)
	}
	kind := "pod"
	if isStatic(v.Pod) {
		kind = "static pod"
	}
	return fmt.Sprintf("Pod %s is a %s from the source %q.", v.PodRef, kind, v.Source)
}

// explainTrouble says what is wrong with the source of a pod: what it would say now may
// be another thing.
func (l *SyncLoop) explainTrouble(v *PodView, now time.Time) string {
	if l.cfg.PodConfig == nil || v.Pod == nil {
		return ""
	}
	for _, s := range l.cfg.PodConfig.Status() {
		switch {
		case s.Name != v.Source:
		case s.Ended:
			return "Its source has ended; what it said last counts."
		case !s.Silent.IsZero():
			return fmt.Sprintf("Its source says nothing since %s; what it said last counts.", ago(s.Silent, now))
		case s.Err != nil:
			problems := strings.ReplaceAll(s.Err.Error(), "\n", "; ") // of several manifests
			return fmt.Sprintf("Its source is not well since %s; what it said last counts: %s", ago(s.Since, now), said(problems))
		}
	}
	return ""
}

func explainAdmission(v *PodView, now time.Time) string {
	switch {
	case v.Refused != nil:
		return fmt.Sprintf("It was rejected, for good: %s: %s.", v.Refused.Reason, trimStop(strings.TrimPrefix(v.Refused.Message, "Pod was rejected: ")))
	case v.Waiting != "":
		return fmt.Sprintf("It waits since %s: %s", ago(v.WaitingSince, now), v.Waiting)
	case v.Admitted:
		return "It was admitted."
	case v.Pod == nil:
		return "Nobody asked for it to be admitted."
	default:
		return "It was not asked whether it may run: it had ended before, or is marked for deletion."
	}
}

func explainLife(v *PodView, now time.Time) string {
	switch v.Stage {
	case lifecycle.Sync:
		return "It should run."
	case lifecycle.Terminating:
		line := fmt.Sprintf("It is being stopped since %s", ago(v.TerminatingSince, now))
		if left := v.Deadline.Sub(now); left > 0 {
			return fmt.Sprintf("%s; what still runs in %s is killed.", line, left.Round(100*time.Millisecond))
		}
		return line + "; its time is over, what still runs is being killed."
	case lifecycle.Terminated:
		return "Its containers have stopped; what it holds is being released."
	case lifecycle.Finished:
		return "It has ended; its dead containers are kept for their logs."
	default:
		return ""
	}
}

func explainWork(v *PodView, now time.Time) string {
	if v.Work != "" && !v.WorkSince.IsZero() {
		line := fmt.Sprintf("A worker %s it since %s", waitsFor(v.Work), ago(v.WorkSince, now))
		if v.Pending {
			line += "; what was heard meanwhile waits for its end"
		}
		return line + "."
	}
	if v.RetryAt.IsZero() {
		if v.Refused != nil {
			return "" // that is for good
		}
		return "No worker is busy with it; the next event about it brings one."
	}
	line := "No worker is busy with it; "
	if v.Failures > 0 {
		line += "work failed " + count(v.Failures, "time", "times in a row") + "; "
	}
	return line + fmt.Sprintf("it is looked at again in %s, or at the next event about it.",
		max(v.RetryAt.Sub(now), 0).Round(100*time.Millisecond))
}

// doing is what the runtime waits for on behalf of a pod, if it tells.
func (l *SyncLoop) doing(uid types.UID) []runtime.Doing {
	if r, ok := l.cfg.Runtime.(runtime.Reporter); ok {
		return r.Doing(uid)
	}
	return nil
}

func explainStatus(v *PodView) []string {
	if v.Status == nil {
		return []string{"Nothing was said about it yet."}
	}
	s := v.Status
	line := "It is " + string(s.Phase)
	if s.Reason != "" {
		line += ": " + s.Reason
	}
	if s.Message != "" {
		line += ": " + s.Message
	}
	lines := []string{trimStop(line) + "."}
	for _, c := range s.InitContainerStatuses {
		lines = append(lines, explainContainer("Init container", c))
	}
	for _, c := range s.ContainerStatuses {
		lines = append(lines, explainContainer("Container", c))
	}
	for _, c := range s.Conditions {
		switch {
		case c.Type == v1.PodResizePending:
			lines = append(lines, fmt.Sprintf("It asks for other resources than it has: %s: %s", c.Reason, c.Message))
		case c.Type == v1.PodResizeInProgress:
			lines = append(lines, strings.TrimSpace("Its containers are being given other resources. "+c.Message))
		case c.Status != v1.ConditionTrue:
			lines = append(lines, conditionLine(c))
		}
	}
	return lines
}

// trimStop takes the full stop from a message that is to end a sentence.
func trimStop(text string) string { return strings.TrimRight(text, ". ") }

func explainContainer(kind string, c v1.ContainerStatus) string {
	line := fmt.Sprintf("%s %s ", kind, c.Name)
	switch {
	case c.State.Running != nil:
		line += "runs since " + c.State.Running.StartedAt.Format(time.RFC3339)
		if !c.Ready {
			line += ", and is not ready"
		}
	case c.State.Terminated != nil:
		line += "ended: " + explainEnd(c.State.Terminated)
	case c.State.Waiting != nil && c.State.Waiting.Reason != "":
		line += "waits: " + c.State.Waiting.Reason
		if c.State.Waiting.Message != "" {
			line += ": " + said(c.State.Waiting.Message)
		}
	default:
		line += "waits"
	}
	if c.RestartCount > 0 {
		line += fmt.Sprintf("; restarts: %d", c.RestartCount)
	}
	if t := c.LastTerminationState.Terminated; t != nil {
		line += "; before that: " + explainEnd(t)
	}
	return line + "."
}

// explainProbes has a sentence for each probe of a pod.
func (l *SyncLoop) explainProbes(uid types.UID) (lines []string) {
	reporter, ok := l.cfg.Probes.(ProbeReporter)
	if !ok {
		return nil
	}
	now := time.Now()
	for _, x := range reporter.Explain(uid) {
		lines = append(lines, explainProbe(x, now))
	}
	return lines
}

// explainProbe says what a probe found, and what it waits for.
func explainProbe(x probe.Explanation, now time.Time) string {
	line := fmt.Sprintf("Probe %s of %s: %s", x.Probe, x.Container, x.Verdict)
	switch {
	case x.Result == "":
		line += "; this agent has not made it"
	case x.Err != nil:
		line += fmt.Sprintf("; the last attempt, %s ago, went wrong: %s", ago(x.At, now), said(x.Err.Error()))
	default:
		line += fmt.Sprintf("; the last attempt, %s ago, was a %s", ago(x.At, now), x.Result)
		if x.Output != "" {
			line += ": " + said(x.Output)
		}
		if x.Streak > 1 {
			line += fmt.Sprintf(" (%d in a row)", x.Streak)
		}
	}
	switch {
	case x.InFlight:
		line += "; one is being made"
	case x.Wait != probe.WaitNothing:
		line += "; it waits " + x.Wait.String()
	default:
		line += "; the next in " + max(x.Due.Sub(now), 0).Round(100*time.Millisecond).String()
	}
	return line + "."
}

func explainEnd(t *v1.ContainerStateTerminated) string {
	end := fmt.Sprintf("exit code %d, %s", t.ExitCode, t.Reason)
	if t.Message != "" {
		end += ", " + said(t.Message)
	}
	return end
}

// said is what a container or its engine said, fit for a sentence.
func said(text string) string { return probe.Printable(strings.TrimSpace(text)) }

// conditionLine is "Condition TYPE is STATUS: REASON: MESSAGE", as far as it has them.
func conditionLine(c v1.PodCondition) string {
	why := c.Reason
	if c.Message != "" {
		why = strings.TrimPrefix(why+": "+c.Message, ": ")
	}
	if why == "" {
		return fmt.Sprintf("Condition %s is %s.", c.Type, c.Status)
	}
	return fmt.Sprintf("Condition %s is %s: %s", c.Type, c.Status, why)
}
