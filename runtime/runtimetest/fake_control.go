package runtimetest

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Exit ends a running container with an exit code, as if it had ended by
// itself. It gives ErrNotFound unless a container of that name runs.
func (f *Fake) Exit(uid types.UID, container string, code int32) error {
	done := false
	f.update(uid, func(p *fakePod) bool {
		c := p.newest(container)
		done = c != nil && c.end(time.Now(), code, "")
		if done {
			f.advanceStop(p)
		}
		return done
	})
	if !done {
		return fmt.Errorf("running container %s of pod %s: %w", container, uid, runtime.ErrNotFound)
	}
	return nil
}

// LoseTrack puts a running container into the state unknown, as an engine does
// that was restarted. It gives ErrNotFound unless a container of that name runs.
func (f *Fake) LoseTrack(uid types.UID, container string) error {
	done := false
	f.update(uid, func(p *fakePod) bool {
		c := p.newest(container)
		if done = c != nil && c.state == runtime.StateRunning; done {
			c.forgetRun()
			f.advanceStop(p)
		}
		return done
	})
	if !done {
		return fmt.Errorf("running container %s of pod %s: %w", container, uid, runtime.ErrNotFound)
	}
	return nil
}

// FailSandbox ends the newest sandbox of a pod and all that runs in it, as a
// reboot does. It gives ErrNotFound for a pod that the Fake does not know.
func (f *Fake) FailSandbox(uid types.UID) error {
	known := f.update(uid, func(p *fakePod) bool {
		p.killNow()
		if n := len(p.sandboxes); n > 0 {
			p.sandboxes[n-1].Ready, p.sandboxes[n-1].IPs = false, nil
		}
		return true
	})
	if !known {
		return fmt.Errorf("pod %s: %w", uid, runtime.ErrNotFound)
	}
	return nil
}

// killNow ends all that runs of the pod.
func (p *fakePod) killNow() {
	now := time.Now()
	for _, c := range p.containers {
		if c.mayRun() {
			c.end(now, exitKilled, reasonError)
		}
	}
}

// Forget drops a pod and all that runs in it without a trace.
func (f *Fake) Forget(uid types.UID) {
	f.update(uid, func(p *fakePod) bool {
		p.killNow()
		f.drop(uid)
		return true
	})
}

// Invent adds running containers that nobody asked for, in a pod that is made
// for them if need be: what another agent, or an earlier life of this one, left
// behind. Names that run already are left alone.
func (f *Fake) Invent(ref runtime.PodRef, containers ...string) {
	pod := &v1.Pod{}
	pod.UID, pod.Namespace, pod.Name = ref.UID, ref.Namespace, ref.Name
	s := &syncing{Fake: f, req: runtime.SyncRequest{Pod: pod}, ref: ref}
	if known := f.update(ref.UID, func(*fakePod) bool { return false }); !known {
		s.createSandbox(0)
	}
	for _, name := range containers {
		start := runtime.Start{Container: &v1.Container{Name: name}}
		script := f.script(Instance{Pod: ref, Container: name})
		f.update(ref.UID, func(p *fakePod) bool {
			if c := p.newest(name); c != nil {
				start.RestartCount = c.attempt + 1
			}
			s.startIn(p, start, script, nil)
			return true
		})
	}
}
