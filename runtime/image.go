package runtime

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Errors that an [ImagePuller] may wrap to say more of why a pull failed.
var (
	ErrRegistryUnavailable = errors.New("registry unavailable")
	ErrSignatureInvalid    = errors.New("signature validation failed")
)

// ImageAction is what to do about a container's image.
type ImageAction string

// What to do about a container's image.
const (
	ImageUse  ImageAction = "use"  // start the container with it
	ImagePull ImageAction = "pull" // fetch it first
	ImageWait ImageAction = "wait" // don't start the container now
)

// ImageInput is all that [DecideImage] looks at.
type ImageInput struct {
	// Container names the image and the pull policy.
	Container *v1.Container
	// Ref and InspectErr are what [ImagePuller.ImageRef] said of the name that
	// [ImageName] gives. They are not looked at, and need not be asked for,
	// unless [NeedsInspect].
	Ref        string
	InspectErr error
	// Backoff remembers the pulls of this pod that failed.
	Backoff PullBackoff
	// Now is the time of the decision.
	Now time.Time
}

// ImageDecision says what to do about a container's image. Reason and Message
// are for the container's waiting state and set when Action is ImageWait.
type ImageDecision struct {
	Action          ImageAction
	Reason, Message string
	// RetryAt is when a wait ends by itself; zero when only a change ends it.
	RetryAt time.Time
	// Events are for users, before the action.
	Events []Event
}

// NeedsInspect tells whether presence of the container's image matters, so that
// [ImagePuller.ImageRef] must be asked before [DecideImage]. With the policy
// Always, or none, it is pulled whether or not it is there.
func NeedsInspect(container *v1.Container) bool {
	switch container.ImagePullPolicy {
	case v1.PullIfNotPresent, v1.PullNever:
		return true
	}
	return false
}

// DecideImage decides for a runtime that has an [ImagePuller]. Without one, images
// are opaque: there is nothing to decide, whatever their names and policies.
func DecideImage(in ImageInput) ImageDecision {
	c := in.Container
	if _, err := ImageName(c.Image); err != nil {
		return waitForImage(c, ReasonInvalidImageName, "InspectFailed",
			fmt.Sprintf("Failed to apply default image tag %q: %v", c.Image, err))
	}
	if NeedsInspect(c) {
		switch {
		case in.InspectErr != nil:
			return waitForImage(c, ReasonImageInspectError, "InspectFailed",
				fmt.Sprintf("Failed to inspect image %q: %v", c.Image, in.InspectErr))
		case in.Ref != "":
			return ImageDecision{Action: ImageUse, Events: []Event{normal(c, "Pulled",
				fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", c.Image))}}
		case c.ImagePullPolicy == v1.PullNever:
			return waitForImage(c, ReasonErrImageNeverPull, ReasonErrImageNeverPull,
				fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image))
		}
	}
	if retryAt, last := in.Backoff.until(c.Image, in.Now); !retryAt.IsZero() {
		message := fmt.Sprintf("Back-off pulling image %q", c.Image)
		return ImageDecision{
			Action: ImageWait, Reason: ReasonImagePullBackOff, Message: message + ": " + last,
			RetryAt: retryAt, Events: []Event{normal(c, "BackOff", message)},
		}
	}
	return ImageDecision{Action: ImagePull, Events: []Event{normal(c, "Pulling", fmt.Sprintf("Pulling image %q", c.Image))}}
}

// waitForImage is the decision to wait for an image until something changes.
func waitForImage(c *v1.Container, reason, eventReason, message string) ImageDecision {
	return ImageDecision{Action: ImageWait, Reason: reason, Message: message, Events: []Event{warning(c, eventReason, message)}}
}

// PullFailure returns the reason and message for the container's waiting state
// and the event, after a pull of its image failed with err.
func PullFailure(container *v1.Container, err error) (reason, message string, event Event) {
	return pullReason(err), err.Error(), warning(container, "Failed", fmt.Sprintf("Failed to pull image %q: %v", container.Image, err))
}

func pullReason(err error) string {
	switch {
	case errors.Is(err, ErrRegistryUnavailable):
		return ReasonRegistryUnavailable
	case errors.Is(err, ErrSignatureInvalid):
		return ReasonSignatureValidationFailed
	}
	return ReasonErrImagePull
}

// PullSuccess returns the event for a container's image that was pulled: how long
// it took in all, how long without waiting for its turn, and the size of the image
// in bytes. A size of zero or less is not known and is left out.
func PullSuccess(container *v1.Container, total, pull time.Duration, size int64) Event {
	message := fmt.Sprintf("Successfully pulled image %q in %s (%s including waiting).",
		container.Image, pull.Truncate(time.Millisecond), total.Truncate(time.Millisecond))
	if size > 0 {
		message += fmt.Sprintf(" Image size: %d bytes.", size)
	}
	return normal(container, "Pulled", message)
}

func normal(c *v1.Container, reason, message string) Event {
	return Event{Container: c.Name, Type: v1.EventTypeNormal, Reason: reason, Message: message}
}

func warning(c *v1.Container, reason, message string) Event {
	return Event{Container: c.Name, Type: v1.EventTypeWarning, Reason: reason, Message: message}
}
