package podruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// ensureImage makes the image of a container present, as its pull policy asks,
// and returns what it stands for. With a backend that is no puller there is
// nothing to do.
func (p *pass) ensureImage(ctx context.Context, c *v1.Container) (ref string, fault *startError) {
	puller, ok := p.cfg.Backend.(runtime.ImagePuller)
	if !ok {
		return "", nil
	}
	in := runtime.ImageInput{Container: c, Now: time.Now()}
	p.state.mu.Lock()
	in.Backoff = p.state.pulls
	p.state.mu.Unlock()
	// A name that is none is for DecideImage to say.
	name, err := runtime.ImageName(c.Image)
	if err == nil && runtime.NeedsInspect(c) {
		in.Ref, in.InspectErr = puller.ImageRef(ctx, name)
	}
	if ctx.Err() != nil {
		return "", nil
	}
	d := runtime.DecideImage(in)
	p.tell(p.state, p.pod, d.Events)
	switch d.Action {
	case runtime.ImageWait:
		return "", &startError{reason: d.Reason, message: d.Message, event: d.Reason, retryAt: d.RetryAt}
	case runtime.ImagePull:
		return p.pull(ctx, puller, c, name)
	}
	return in.Ref, nil
}

func (p *pass) pull(ctx context.Context, puller runtime.ImagePuller, c *v1.Container, name string) (string, *startError) {
	began := time.Now()
	defer p.state.begin("the pull of image ", name)()
	ref, err := p.pullWith(ctx, puller, c.Image, name)
	now := time.Now()
	if ctx.Err() != nil {
		return "", nil
	}
	p.state.mu.Lock()
	if err != nil {
		p.state.pulls = p.state.pulls.Failed(c.Image, err, now)
	} else {
		p.state.pulls = p.state.pulls.Succeeded(c.Image, now)
	}
	p.state.mu.Unlock()
	if err != nil {
		reason, message, event := runtime.PullFailure(c, err)
		p.tell(p.state, p.pod, []runtime.Event{event})
		return "", &startError{reason: reason, message: message, event: reason}
	}
	took := now.Sub(began)
	p.tell(p.state, p.pod, []runtime.Event{runtime.PullSuccess(c, took, took, 0)})
	return ref, nil
}

// pullWith tries the credentials that the pod has for the image, one after the
// other, and goes without where it has none.
func (p *pass) pullWith(ctx context.Context, puller runtime.ImagePuller, image, name string) (ref string, err error) {
	credentials, err := runtime.Credentials(image, p.pullSecrets(ctx))
	if err != nil {
		p.warn(p.state, objectOf(p.pod, ""), reasonPullSecret, err.Error())
	}
	if len(credentials) == 0 {
		return puller.PullImage(ctx, name, nil)
	}
	var errs []error
	for i := range credentials {
		ref, err := puller.PullImage(ctx, name, &credentials[i])
		if err == nil || ctx.Err() != nil {
			return ref, err
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

const reasonPullSecret = "FailedToRetrieveImagePullSecret"

// pullSecrets reads the pod's pull secrets. Those that can't be read are named in
// an event, and the pull goes on without them.
func (p *pass) pullSecrets(ctx context.Context) []*v1.Secret {
	objects := p.facts(ctx).objects
	var secrets []*v1.Secret
	var missing []string
	for _, ref := range p.pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue
		}
		secret, err := objects.secret(ref.Name, nil)
		if err != nil {
			missing = append(missing, ref.Name)
			continue
		}
		secrets = append(secrets, secret)
	}
	if len(missing) > 0 && ctx.Err() == nil {
		p.warn(p.state, objectOf(p.pod, ""), reasonPullSecret, fmt.Sprintf(
			"Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(missing, ", ")))
	}
	return secrets
}
