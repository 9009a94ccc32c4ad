package main

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func walkImages(_ context.Context, p *page) error {
	p.intro(`Before a container starts, its image must be there. The decision is pure: pull
		policy, what is on the node, and the pulls that failed go in.`)

	p.step("The policies", "runtime.NeedsInspect", "runtime.DecideImage")
	t := &table{}
	t.row("policy", "image is there", "image is absent")
	for _, pol := range []v1.PullPolicy{v1.PullAlways, v1.PullIfNotPresent, v1.PullNever} {
		c := &v1.Container{Name: "main", Image: "main:1", ImagePullPolicy: pol}
		there := runtime.DecideImage(runtime.ImageInput{Container: c, Ref: "sha256:1", Now: noon})
		absent := runtime.DecideImage(runtime.ImageInput{Container: c, Now: noon})
		t.row(pol, showImage(there), showImage(absent))
	}
	p.out("%s", t)
	p.why("With Always nobody looks whether it is there: the registry may have a newer one.")

	p.step("A pull fails", "runtime.PullFailure", "runtime.PullBackoff.Failed")
	c := &v1.Container{Name: "main", Image: "main:1", ImagePullPolicy: v1.PullIfNotPresent}
	failure := errors.New("no route to host")
	reason, message, event := runtime.PullFailure(c, failure)
	backoff := runtime.PullBackoff{}.Failed(c.Image, failure, noon)
	p.in("%v, at %s", failure, clock(noon))
	p.out("waiting %s: %s", reason, message)
	p.out("event %s %s: %s", event.Type, event.Reason, event.Message)

	p.step("The next pass", "runtime.DecideImage")
	t = &table{}
	for _, now := range []time.Time{noon.Add(time.Second), noon.Add(10 * time.Second)} {
		d := runtime.DecideImage(runtime.ImageInput{Container: c, Backoff: backoff, Now: now})
		t.row(clock(now), showImage(d), d.Message)
	}
	p.out("%s", t)
	p.why("Pulls back off by themselves, 10 seconds doubling to 5 minutes, image by image.")
	return nil
}

func showImage(d runtime.ImageDecision) string {
	if d.Reason != "" {
		return string(d.Action) + ", " + d.Reason
	}
	return string(d.Action)
}
