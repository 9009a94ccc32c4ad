package runtimetest

import (
	"fmt"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
// reboot does.
func (f *Fake) FailSandbox(uid types.UID) error {
	known := f.update(uid, func(p *fakePod) bool {
		now := time.Now()
		for _, c := range p.containers {
			c.stopForPod(now, now, false, nil)
		}
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

// Forget drops a pod and all that runs in it without a trace.
func (f *Fake) Forget(uid types.UID) {
	f.mu.Lock()
	if p := f.pods[uid]; p != nil {
		for _, c := range p.containers {
			c.stopForPod(time.Now(), time.Now(), false, nil)
		}
		delete(f.pods, uid)
	}
	watchers := f.watchers
	f.mu.Unlock()
	tell(watchers, uid)
}

// Invent adds running containers that nobody asked for, in a pod that is made
// for them if need be: what another agent, or an earlier life of this one, left
// behind.
func (f *Fake) Invent(ref runtime.PodRef, containers ...string) {
	pod := &v1.Pod{}
	pod.UID, pod.Namespace, pod.Name = ref.UID, ref.Namespace, ref.Name
	s := f.beginSync(runtime.SyncRequest{Pod: pod})
	if known := f.update(ref.UID, func(*fakePod) bool { return false }); !known {
		s.createSandbox()
	}
	for _, name := range containers {
		script := f.script(Instance{Pod: ref, Container: name})
		f.update(ref.UID, func(p *fakePod) bool {
			s.startIn(p, &v1.Container{Name: name}, script, 0)
			return true
		})
	}
}
