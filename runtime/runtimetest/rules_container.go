package runtimetest

import (
	"errors"
	"fmt"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

var containerRules = []rule[*backendCase]{
	{"container-create", "A container that was created does not run, and its status gives what it was made with.", containerCreate},
	{"container-labels", "Labels and annotations of a container come back unmodified, from status and list, whatever the caller does to its maps.", containerLabels},
	{"container-attempt", "A second container of the same name and attempt is refused, also when the first one ended; another attempt is not.", containerAttempt},
	{"container-start", "StartContainer makes a container run.", containerStart},
	{"container-unknown", "ContainerStatus and StartContainer of an unknown container are ErrNotFound.", containerUnknown},
	{"container-start-fails", "A start that fails is an error, and leaves nothing running.", containerStartFails},
	{"container-exit", "A container that ends is exited, with its exit code, a reason and the time.", containerExit},
	{"container-list", "ListContainers gives containers in every state, and agrees with ContainerStatus.", containerList},
	{"container-resize", "A ContainerResizer leaves a running container running, and where it tells what a container has, tells that.", containerResize},
	{"container-remove", "RemoveContainer removes a container, running ones too, and may be called again.", containerRemove},
	{"container-remove-log", "The log of a container stays when it is removed.", containerRemoveLog},
}

func containerCreate(c *backendCase) error {
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return err
	}
	cfg := c.containerConfig(sb, "main", 3, c.Programs.RunsForever)
	id, err := c.CreateContainer(c.ctx, sandboxID, cfg)
	if err != nil {
		return err
	}
	st, err := c.ContainerStatus(c.ctx, id)
	switch {
	case err != nil:
		return err
	case id == "" || st.ID != id:
		return fmt.Errorf("status of container %q has ID %q", id, st.ID)
	case st.State != runtime.StateCreated:
		return fmt.Errorf("its state is %s, want created", st.State)
	case st.SandboxID != sandboxID || st.PodUID != sb.UID:
		return fmt.Errorf("it is in sandbox %s of pod %s, want %s of %s", st.SandboxID, st.PodUID, sandboxID, sb.UID)
	case st.Name != cfg.Name || st.Attempt != cfg.Attempt:
		return fmt.Errorf("it is %s attempt %d, want %s attempt %d", st.Name, st.Attempt, cfg.Name, cfg.Attempt)
	case st.Image != cfg.Image || st.LogPath != cfg.LogPath:
		return fmt.Errorf("its image is %q and its log %q, want %q and %q", st.Image, st.LogPath, cfg.Image, cfg.LogPath)
	case st.CreatedAt.IsZero() || !st.StartedAt.IsZero() || !st.FinishedAt.IsZero():
		return fmt.Errorf("it was created at %v, started at %v, ended at %v", st.CreatedAt, st.StartedAt, st.FinishedAt)
	}
	return nil
}

func containerLabels(c *backendCase) error {
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return err
	}
	cfg := c.containerConfig(sb, "main", 0, c.Programs.RunsForever)
	want := c.containerConfig(sb, "main", 0, c.Programs.RunsForever) // maps of its own
	id, err := c.CreateContainer(c.ctx, sandboxID, cfg)
	if err != nil {
		return err
	}
	return keepsMarks(marks{cfg.Labels, cfg.Annotations}, marks{want.Labels, want.Annotations}, func() (read []marks, err error) {
		st, err := c.ContainerStatus(c.ctx, id)
		if err != nil {
			return nil, err
		}
		list, err := c.ListContainers(c.ctx, runtime.Filter{PodUID: sb.UID})
		for _, s := range append(list, st) {
			read = append(read, marks{s.Labels, s.Annotations})
		}
		return read, err
	})
}

func containerAttempt(c *backendCase) error {
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return err
	}
	id, err := c.start(sb, sandboxID, "main", c.Programs.RunsForever)
	if err != nil {
		return err
	}
	refused := func(when string) error {
		second, err := c.CreateContainer(c.ctx, sandboxID, c.containerConfig(sb, "main", 0, c.Programs.RunsForever))
		if err == nil {
			return fmt.Errorf("container %s has name and attempt of %s, which %s", second, id, when)
		}
		return nil
	}
	if err := refused("runs"); err != nil {
		return err
	}
	if err := c.StopContainer(c.ctx, id, 0); err != nil {
		return err
	}
	if err := refused("ended"); err != nil {
		return err
	}
	next, err := c.CreateContainer(c.ctx, sandboxID, c.containerConfig(sb, "main", 1, c.Programs.RunsForever))
	if err != nil {
		return fmt.Errorf("the next attempt: %w", err)
	}
	if next == id {
		return fmt.Errorf("the next attempt has the same ID %s", id)
	}
	_, err = c.CreateContainer(c.ctx, sandboxID, c.containerConfig(sb, "other", 0, c.Programs.RunsForever))
	return err
}

func containerStart(c *backendCase) error {
	_, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	st, err := c.ContainerStatus(c.ctx, id)
	switch {
	case err != nil:
		return err
	case st.State != runtime.StateRunning:
		return fmt.Errorf("its state is %s, want running", st.State)
	case st.StartedAt.IsZero() || !st.FinishedAt.IsZero():
		return fmt.Errorf("it started at %v and ended at %v", st.StartedAt, st.FinishedAt)
	}
	return nil
}

func containerUnknown(c *backendCase) error {
	_, err := c.ContainerStatus(c.ctx, "no-such-container")
	return errors.Join(
		gone("ContainerStatus", err),
		gone("StartContainer", c.StartContainer(c.ctx, "no-such-container")),
	)
}

func containerStartFails(c *backendCase) error {
	_, id, err := c.started(c.Programs.CantStart, "can't be started")
	if err == nil {
		return errors.New("the start of a container that can't start gave no error")
	}
	var skipped conformance.Skip
	if errors.As(err, &skipped) || id == "" {
		return err
	}
	st, err := c.ContainerStatus(c.ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err == nil && (st.State == runtime.StateRunning || st.State == runtime.StateUnknown) {
		err = fmt.Errorf("it is %s after a start that failed", st.State)
	}
	return err
}

func containerExit(c *backendCase) error {
	for _, code := range []int32{0, 3} {
		p, err := c.Programs.exits(code)
		if err != nil {
			return err
		}
		_, id, err := c.started(p, "ends")
		if err != nil {
			return err
		}
		st, err := c.awaitExit(id)
		switch {
		case err != nil:
			return err
		case st.ExitCode != code:
			return fmt.Errorf("its exit code is %d, want %d", st.ExitCode, code)
		case st.Reason == "" || code == 0 && st.Reason != reasonCompleted || code != 0 && st.Reason == reasonCompleted:
			return fmt.Errorf("its reason is %q with exit code %d", st.Reason, code)
		case st.StartedAt.IsZero() || st.FinishedAt.Before(st.StartedAt):
			return fmt.Errorf("it started at %v and ended at %v", st.StartedAt, st.FinishedAt)
		}
	}
	return nil
}

func containerList(c *backendCase) error {
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return err
	}
	want := map[string]runtime.State{}
	for _, name := range []string{"created", "running", "exited"} {
		id, err := c.CreateContainer(c.ctx, sandboxID, c.containerConfig(sb, name, 0, c.Programs.RunsForever))
		if err != nil {
			return err
		}
		want[id] = runtime.State(name)
		if name != "created" {
			err = c.StartContainer(c.ctx, id)
		}
		if name == "exited" && err == nil {
			err = c.StopContainer(c.ctx, id, 0)
		}
		if err != nil {
			return err
		}
	}
	_, other, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	for _, f := range []runtime.Filter{{PodUID: sb.UID}, {}} {
		list, err := c.ListContainers(c.ctx, f)
		if err != nil {
			return err
		}
		for id, state := range want {
			n := count(list, func(s runtime.Container) bool {
				return s.ID == id && s.State == state && s.SandboxID == sandboxID && s.PodUID == sb.UID && s.Name == string(state)
			})
			if n != 1 {
				return fmt.Errorf("the container that is %s is %d times, as it should be, in the list for filter %+v: %+v", state, n, f, list)
			}
		}
		if n := count(list, func(s runtime.Container) bool { return s.ID == other }); (n == 1) != (f.PodUID == "") {
			return fmt.Errorf("the container of another pod is %d times in the list for filter %+v", n, f)
		}
	}
	return nil
}

func containerRemove(c *backendCase) error {
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return err
	}
	id, err := c.start(sb, sandboxID, "main", c.Programs.RunsForever)
	if err != nil {
		return err
	}
	for range 2 {
		if err := c.RemoveContainer(c.ctx, id); err != nil {
			return err
		}
		_, err := c.ContainerStatus(c.ctx, id)
		if err := gone("ContainerStatus after RemoveContainer", err); err != nil {
			return err
		}
	}
	list, err := c.ListContainers(c.ctx, runtime.Filter{PodUID: sb.UID})
	if err == nil && len(list) != 0 {
		err = fmt.Errorf("a container that was removed is in the list: %+v", list)
	}
	return err
}

func containerRemoveLog(c *backendCase) error {
	if c.ReadLog == nil {
		return conformance.Skip("the host gives no way to read logs")
	}
	p, err := c.Programs.prints("hello from the suite")
	if err != nil {
		return err
	}
	_, id, err := c.started(p, "prints")
	if err != nil {
		return err
	}
	st, err := c.awaitExit(id)
	if err != nil {
		return err
	}
	const want = " stdout F hello from the suite\n" // the CRI's line format
	if err := c.awaitLog(st.LogPath, want); err != nil {
		return err
	}
	if err := c.RemoveContainer(c.ctx, id); err != nil {
		return err
	}
	log, err := c.ReadLog(st.LogPath)
	if err == nil && !containsText(log, want) {
		err = fmt.Errorf("log %s lost what it held: %q", st.LogPath, log)
	}
	return err
}
