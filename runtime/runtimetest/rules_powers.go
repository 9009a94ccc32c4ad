package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

var powerRules = []rule[*runtimeCase]{
	{"watch", "A Watcher says with an empty UID that it has begun, hints at each change of a pod, and returns when its context ends.", runtimeWatch},
	{"exec", "Exec gives what the command printed and its exit code; one that fails is no error.", runtimeExec},
	{"exec-cancel", "When its context ends, Exec kills the command and returns soon, with the context's error.", runtimeExecCancel},
	{"exec-unknown", "Exec in an unknown container is ErrNotFound.", runtimeExecUnknown},
	{"logs", "Logs gives what a container printed, dead or alive; of an unknown one it is ErrNotFound.", runtimeLogs},
	{"resize", "A Resizer that can gives a running container other resources, says so in its status, and leaves it running; the next pass has nothing to do.", runtimeResize},
	{"stats", "PodStats measures a pod's running containers; of an unknown pod it is ErrNotFound.", runtimeStats},
	{"clean", "RemovePod and RemoveVolumes fail while a container runs. Afterwards they remove what is kept for the pod, and may be called again.", runtimeClean},
	{"doing", "A Reporter names nothing for a pod that is idle, and nothing for one that is not known.", runtimeDoing},
	{"doing-stop", "While KillPod waits for a container a Reporter names that, with since when, oldest first, and does not wait itself.", runtimeDoingStop},
}

func runtimeDoing(c *runtimeCase) error {
	r, ok := c.Runtime.(runtime.Reporter)
	if !ok {
		return conformance.Skip("it is no Reporter")
	}
	pod, _, err := c.server()
	if err != nil {
		return err
	}
	for _, uid := range []types.UID{pod.UID, "not-known"} {
		if doing := r.Doing(uid); len(doing) > 0 {
			return fmt.Errorf("it waits for %s on behalf of pod %s", doing[0].What, uid)
		}
	}
	return nil
}

func runtimeDoingStop(c *runtimeCase) error {
	r, ok := c.Runtime.(runtime.Reporter)
	if !ok {
		return conformance.Skip("it is no Reporter")
	}
	pod, err := c.stubborn()
	if err != nil {
		return err
	}
	began := time.Now()
	kill := async(func() error { return c.KillPod(c.ctx, killRequest(pod, c.longGrace())) })
	if err := c.pending("KillPod", kill); err != nil {
		return err
	}
	asked := make(chan []runtime.Doing, 1)
	late := c.soon("Doing of a pod that is being stopped", func() { asked <- r.Doing(pod.UID) })
	if err := errors.Join(c.KillPod(c.ctx, killRequest(pod, shortGrace)), c.result("KillPod", kill), late); err != nil {
		return err
	}
	doing := <-asked
	if len(doing) == 0 {
		return errors.New("it names nothing")
	}
	for i, d := range doing {
		switch {
		case d.What == "":
			return errors.New("one has no What")
		case d.Since.Before(began) || d.Since.After(time.Now()):
			return fmt.Errorf("it waits for %s since %s, and the stop began at %s", d.What, d.Since, began)
		case i > 0 && d.Since.Before(doing[i-1].Since):
			return fmt.Errorf("%s is named after %s, which is newer", d.What, doing[i-1].What)
		}
	}
	return nil
}

func runtimeWatch(c *runtimeCase) error {
	w, ok := c.Runtime.(runtime.Watcher)
	if !ok {
		return conformance.Skip("it is no Watcher")
	}
	watch := c.watch(w)
	defer watch.cancel()
	var pod *v1.Pod
	err := watch.begun(func() (types.UID, error) {
		pod = c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
		_, err := c.sync(pod)
		return pod.UID, err
	})
	if err != nil {
		return err
	}
	if _, err := c.drive(pod, "main to run", inState(runtime.StateRunning, "main")); err != nil {
		return err
	}
	err = watch.after("KillPod", pod.UID, func() error { return c.KillPod(c.ctx, killRequest(pod, shortGrace)) })
	if err != nil {
		return err
	}
	if p, err := c.Programs.exits(3); err == nil {
		pod := c.pod(v1.RestartPolicyNever, p.container("main"))
		if err := watch.after("SyncPod", pod.UID, func() error { _, err := c.sync(pod); return err }); err != nil {
			return err
		}
	}
	return watch.end()
}

func runtimeLogs(c *runtimeCase) error {
	logs, ok := c.Runtime.(runtime.LogReader)
	if !ok {
		return conformance.Skip("it is no LogReader")
	}
	_, err := logs.Logs(c.ctx, "no-such-container", runtime.LogOptions{})
	if errors.Is(err, runtime.ErrNotSupported) {
		return conformance.Skip("its Logs gives ErrNotSupported")
	}
	if err := gone("Logs", err); err != nil {
		return err
	}
	p, err := c.Programs.prints("hello from the suite")
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyNever, p.container("main"))
	st, err := c.drive(pod, "main to end", inState(runtime.StateExited, "main"))
	if err != nil {
		return err
	}
	return c.awaitLog(logs, st.Container("main").ID, "hello from the suite\n")
}

func runtimeStats(c *runtimeCase) error {
	s, ok := c.Runtime.(runtime.StatsProvider)
	if !ok {
		return conformance.Skip("it is no StatsProvider")
	}
	_, err := s.PodStats(c.ctx, "no-such-pod")
	if errors.Is(err, runtime.ErrNotSupported) {
		return conformance.Skip("its PodStats gives ErrNotSupported")
	}
	if err := gone("PodStats", err); err != nil {
		return err
	}
	pod, _, err := c.server()
	if err != nil {
		return err
	}
	stats, err := s.PodStats(c.ctx, pod.UID)
	switch {
	case err != nil:
		return err
	case stats.UID != pod.UID || stats.Time.IsZero():
		return fmt.Errorf("the stats are of pod %q at %v", stats.UID, stats.Time)
	case count(stats.Containers, func(s runtime.ContainerStats) bool { return s.Name == "main" }) != 1:
		return fmt.Errorf("the containers measured are %+v, want main", stats.Containers)
	}
	return nil
}

func runtimeClean(c *runtimeCase) error {
	cleaner, ok := c.Runtime.(runtime.Cleaner)
	if !ok {
		return conformance.Skip("it is no Cleaner")
	}
	pod, _, err := c.server()
	if err != nil {
		return err
	}
	remove := []func(context.Context, types.UID) error{cleaner.RemoveVolumes, cleaner.RemovePod}
	for _, remove := range remove {
		if err := remove(c.ctx, pod.UID); err == nil {
			return errors.New("something was removed from under a container that runs")
		}
	}
	if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
		return err
	}
	for range 2 {
		for _, remove := range remove {
			if err := remove(c.ctx, pod.UID); err != nil {
				return err
			}
		}
	}
	item, err := c.listed(pod.UID)
	if err == nil && item != nil {
		err = fmt.Errorf("after RemovePod it is in the list: %+v", *item)
	}
	return errors.Join(err, cleaner.RemovePod(c.ctx, "no-such-pod"))
}
