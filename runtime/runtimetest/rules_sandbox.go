package runtimetest

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

var sandboxRules = []rule[*backendCase]{
	{"sandbox-create", "A new sandbox is ready, and its status gives what it was made with.", sandboxCreate},
	{"sandbox-labels", "Labels and annotations of a sandbox come back unmodified, from status and list, whatever the caller does to its maps.", sandboxLabels},
	{"sandbox-attempt", "A second sandbox for the same UID and attempt is refused; another attempt is not.", sandboxAttempt},
	{"sandbox-unknown", "SandboxStatus of an unknown sandbox is ErrNotFound.", sandboxUnknown},
	{"sandbox-stop", "StopSandbox makes a sandbox not ready, and may be called again.", sandboxStop},
	{"sandbox-stop-kills", "StopSandbox kills what still runs in the sandbox.", sandboxStopKills},
	{"sandbox-stopped-refuses", "A container is created in a ready sandbox only.", sandboxStoppedRefuses},
	{"sandbox-remove", "RemoveSandbox removes the sandbox and its containers, running ones too, and may be called again.", sandboxRemove},
	{"sandbox-stop-unknown", "StopSandbox and RemoveSandbox of one that is gone are no error.", sandboxStopUnknown},
	{"sandbox-list", "ListSandboxes gives each sandbox that the filter selects once, and agrees with SandboxStatus.", sandboxList},
}

func sandboxCreate(c *backendCase) error {
	cfg, id, err := c.sandbox()
	if err != nil {
		return err
	}
	st, err := c.SandboxStatus(c.ctx, id)
	switch {
	case err != nil:
		return err
	case st.ID != id:
		return fmt.Errorf("status of sandbox %s has ID %s", id, st.ID)
	case st.PodRef != cfg.PodRef:
		return fmt.Errorf("it is of pod %s, want %s", st.PodRef, cfg.PodRef)
	case !st.Ready:
		return errors.New("it is not ready")
	case st.CreatedAt.IsZero():
		return errors.New("its CreatedAt is zero")
	case st.Attempt != cfg.Attempt:
		return fmt.Errorf("its attempt is %d, want %d", st.Attempt, cfg.Attempt)
	}
	return nil
}

func sandboxLabels(c *backendCase) error {
	cfg := c.sandboxConfig()
	want := c.sandboxConfig() // maps of its own
	want.Labels["io.kubernetes.pod.uid"] = cfg.Labels["io.kubernetes.pod.uid"]
	id, err := c.makeSandbox(cfg)
	if err != nil {
		return err
	}
	return keepsMarks(marks{cfg.Labels, cfg.Annotations}, marks{want.Labels, want.Annotations}, func() (read []marks, err error) {
		st, err := c.SandboxStatus(c.ctx, id)
		if err != nil {
			return nil, err
		}
		list, err := c.ListSandboxes(c.ctx, runtime.Filter{PodUID: cfg.UID})
		for _, s := range append(list, st) {
			read = append(read, marks{s.Labels, s.Annotations})
		}
		return read, err
	})
}

// marks are the labels and annotations of a sandbox or container.
type marks struct{ labels, annotations map[string]string }

func (m marks) change() { m.labels["changed"], m.annotations["changed"] = "yes", "yes" }

// keepsMarks sees that what was given comes back, time and again, though its owner
// changes what he gave and what he got.
func keepsMarks(given, want marks, read func() ([]marks, error)) error {
	given.change()
	for range 2 {
		all, err := read()
		if err != nil {
			return err
		}
		for _, m := range all {
			if err := errors.Join(sameMap("labels", m.labels, want.labels), sameMap("annotations", m.annotations, want.annotations)); err != nil {
				return err
			}
			m.change()
		}
	}
	return nil
}

func sandboxAttempt(c *backendCase) error {
	cfg, id, err := c.sandbox()
	if err != nil {
		return err
	}
	if second, err := c.makeSandbox(cfg); err == nil {
		return fmt.Errorf("sandbox %s has the attempt of sandbox %s", second, id)
	}
	if err := c.StopSandbox(c.ctx, id); err != nil {
		return err
	}
	if second, err := c.makeSandbox(cfg); err == nil {
		return fmt.Errorf("sandbox %s has the attempt of sandbox %s, which was stopped", second, id)
	}
	cfg.Attempt++
	next, err := c.makeSandbox(cfg)
	if err != nil {
		return fmt.Errorf("the next attempt: %w", err)
	}
	st, err := c.SandboxStatus(c.ctx, next)
	if err == nil && (st.Attempt != cfg.Attempt || next == id) {
		err = fmt.Errorf("sandbox %s has attempt %d, want one of its own with %d", next, st.Attempt, cfg.Attempt)
	}
	return err
}

func sandboxUnknown(c *backendCase) error {
	_, err := c.SandboxStatus(c.ctx, "no-such-sandbox")
	return gone("SandboxStatus", err)
}

func sandboxStop(c *backendCase) error {
	_, id, err := c.sandbox()
	if err != nil {
		return err
	}
	for range 2 {
		if err := c.StopSandbox(c.ctx, id); err != nil {
			return err
		}
		st, err := c.SandboxStatus(c.ctx, id)
		if err != nil {
			return err
		}
		if st.Ready {
			return errors.New("it is ready after it was stopped")
		}
	}
	return nil
}

func sandboxStopKills(c *backendCase) error {
	sandboxID, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	if err := c.StopSandbox(c.ctx, sandboxID); err != nil {
		return err
	}
	_, err = c.awaitExit(id)
	return err
}

func sandboxStoppedRefuses(c *backendCase) error {
	cfg, id, err := c.sandbox()
	if err != nil {
		return err
	}
	if err := c.StopSandbox(c.ctx, id); err != nil {
		return err
	}
	if _, err := c.CreateContainer(c.ctx, id, c.containerConfig(cfg, "main", 0, c.Programs.RunsForever)); err == nil {
		return errors.New("a container was created in a sandbox that was stopped")
	}
	_, err = c.CreateContainer(c.ctx, "no-such-sandbox", c.containerConfig(cfg, "main", 0, c.Programs.RunsForever))
	return gone("CreateContainer in an unknown sandbox", err)
}

func sandboxRemove(c *backendCase) error {
	sandboxID, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	for range 2 {
		if err := c.RemoveSandbox(c.ctx, sandboxID); err != nil {
			return err
		}
		_, err := c.SandboxStatus(c.ctx, sandboxID)
		if err := gone("SandboxStatus after RemoveSandbox", err); err != nil {
			return err
		}
		_, err = c.ContainerStatus(c.ctx, id)
		if err := gone("ContainerStatus after RemoveSandbox", err); err != nil {
			return err
		}
	}
	return nil
}

func sandboxStopUnknown(c *backendCase) error {
	return errors.Join(c.StopSandbox(c.ctx, "no-such-sandbox"), c.RemoveSandbox(c.ctx, "no-such-sandbox"))
}

func sandboxList(c *backendCase) error {
	want := map[types.UID]string{}
	for range 3 {
		cfg, id, err := c.sandbox()
		if err != nil {
			return err
		}
		want[cfg.UID] = id
	}
	all, err := c.ListSandboxes(c.ctx, runtime.Filter{})
	if err != nil {
		return err
	}
	for uid, id := range want {
		one, err := c.ListSandboxes(c.ctx, runtime.Filter{PodUID: uid})
		if err != nil {
			return err
		}
		if len(one) != 1 || one[0].ID != id || one[0].UID != uid || !one[0].Ready {
			return fmt.Errorf("the filter for pod %s gave %+v, want sandbox %s alone", uid, one, id)
		}
		if n := count(all, func(s runtime.Sandbox) bool { return s.ID == id }); n != 1 {
			return fmt.Errorf("sandbox %s is %d times in the list of all", id, n)
		}
	}
	none, err := c.ListSandboxes(c.ctx, runtime.Filter{PodUID: "no-such-pod"})
	if err == nil && len(none) != 0 {
		err = fmt.Errorf("the filter for an unknown pod gave %+v", none)
	}
	return err
}

func count[T any](list []T, is func(T) bool) (n int) {
	for _, item := range list {
		if is(item) {
			n++
		}
	}
	return n
}

func containsText(log []byte, text string) bool { return bytes.Contains(log, []byte(text)) }
