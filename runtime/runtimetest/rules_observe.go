package runtimetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

var observeRules = []rule[*runtimeCase]{
	{"status-unknown", "The status of a pod that is not known has its UID alone, and no error.", statusUnknown},
	{"status-observed-at", "ObservedAt is a time before the first read: what was done before it is visible.", statusObservedAt},
	{"status-snapshot", "A status is a snapshot: who receives it owns it, and nobody writes to it afterwards.", statusSnapshot},
	{"status-ips", "The IPs of a status are those of its newest sandbox while that is ready, and none otherwise.", statusIPs},
	{"list", "ListPods lists each pod that the runtime keeps anything for, once, and agrees with PodStatus.", listAgrees},
	{"list-revision", "The revision in the list stays while nothing changes, and changes whenever the pod's status does.", listRevision},
}

func statusUnknown(c *runtimeCase) error {
	st, err := c.PodStatus(c.ctx, "no-such-pod")
	switch {
	case err != nil:
		return err
	case st == nil:
		return errors.New("the status is nil")
	case st.UID != "no-such-pod" || len(st.Sandboxes)+len(st.Containers)+len(st.IPs) > 0:
		return fmt.Errorf("the status is %s", all(st))
	}
	return nil
}

func statusObservedAt(c *runtimeCase) error {
	pod, _, err := c.server()
	if err != nil {
		return err
	}
	before := time.Now()
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	if after := time.Now(); st.ObservedAt.IsZero() || st.ObservedAt.After(after) {
		return fmt.Errorf("a status that was asked for at %v and given at %v was observed at %v", before, after, st.ObservedAt)
	}
	if started := st.Container("main").StartedAt; st.ObservedAt.Before(started) {
		return fmt.Errorf("a container started at %v in a status that was observed at %v", started, st.ObservedAt)
	}
	return nil
}

func statusSnapshot(c *runtimeCase) error {
	pod, st, err := c.server()
	if err != nil {
		return err
	}
	kept := copyStatus(st)
	spoiled, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	spoiled.Containers[0] = runtime.ContainerStatus{Name: "spoiled"}
	spoiled.Sandboxes[0].Ready = false
	if len(spoiled.IPs) > 0 {
		spoiled.IPs[0] = "spoiled"
	}
	for i := range spoiled.Sandboxes[0].IPs {
		spoiled.Sandboxes[0].IPs[i] = "spoiled"
	}
	fresh, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	if err := sameStatus(kept, fresh); err != nil {
		return fmt.Errorf("what was written to a status came back: %w", err)
	}
	if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
		return err
	}
	if err := sameStatus(kept, st); err != nil {
		return fmt.Errorf("a status changed after it was handed over: %w", err)
	}
	return nil
}

func statusIPs(c *runtimeCase) error {
	pod, st, err := c.server()
	if err != nil {
		return err
	}
	if err := ipsOfNewest(st); err != nil {
		return err
	}
	if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
		return err
	}
	if st, err = c.PodStatus(c.ctx, pod.UID); err != nil {
		return err
	}
	return ipsOfNewest(st)
}

func ipsOfNewest(st *runtime.PodStatus) error {
	var want []string
	if len(st.Sandboxes) > 0 && st.Sandboxes[0].Ready {
		want = st.Sandboxes[0].IPs
	}
	if !slices.Equal(want, st.IPs) {
		return fmt.Errorf("the IPs are %q and those of the newest sandbox %q; the sandboxes are %+v", st.IPs, want, st.Sandboxes)
	}
	return nil
}

func sameStatus(want, got *runtime.PodStatus) error {
	if w, g := all(want), all(got); w != g {
		return fmt.Errorf("it was\n%s\nand is\n%s", w, g)
	}
	return nil
}

// all describes all of a status but ObservedAt. (PodStatus prints as its PodRef
// does.)
func all(st *runtime.PodStatus) string {
	return fmt.Sprintf("%s %v %+v %+v", st.PodRef, st.IPs, st.Sandboxes, st.Containers)
}

func listAgrees(c *runtimeCase) error {
	running, _, err := c.server()
	if err != nil {
		return err
	}
	dead, _, err := c.server()
	if err != nil {
		return err
	}
	if err := c.KillPod(c.ctx, killRequest(dead, shortGrace)); err != nil {
		return err
	}
	for _, pod := range []*v1.Pod{running, dead} {
		item, err := c.listed(pod.UID)
		if err != nil {
			return err
		}
		st, err := c.PodStatus(c.ctx, pod.UID)
		switch {
		case err != nil:
			return err
		case item == nil:
			return fmt.Errorf("pod %s is not in the list; its containers are %s", pod.Name, describe(st))
		case item.PodRef != runtime.RefOf(pod):
			return fmt.Errorf("pod %s is in the list as %s", runtime.RefOf(pod), item.PodRef)
		case item.Running != (pod == running):
			return fmt.Errorf("pod %s is in the list with Running=%v; its containers are %s", pod.Name, item.Running, describe(st))
		}
	}
	return nil
}

func listRevision(c *runtimeCase) error {
	pod, _, err := c.server()
	if err != nil {
		return err
	}
	first, err := c.listed(pod.UID)
	if err != nil {
		return err
	}
	if _, err := c.sync(pod); err != nil { // nothing to do
		return err
	}
	second, err := c.listed(pod.UID)
	if err != nil {
		return err
	}
	if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
		return err
	}
	third, err := c.listed(pod.UID)
	switch {
	case err != nil:
		return err
	case first == nil || second == nil || third == nil:
		return errors.New("the pod is not in the list")
	case first.Revision != second.Revision:
		return fmt.Errorf("the revision went from %d to %d although nothing changed", first.Revision, second.Revision)
	case second.Revision == third.Revision:
		return fmt.Errorf("the revision stayed %d when the pod was killed", third.Revision)
	}
	return nil
}
