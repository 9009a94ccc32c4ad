package runtime

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Reasons for a container that waits, in its state and in [StartResult].
const (
	ReasonCrashLoopBackOff  = "CrashLoopBackOff"
	ReasonInvalidImageName  = "InvalidImageName"
	ReasonImageInspectError = "ImageInspectError"
	ReasonErrImageNeverPull = "ErrImageNeverPull"
	ReasonErrImagePull      = "ErrImagePull"
	ReasonImagePullBackOff  = "ImagePullBackOff"
	// These two stand for ErrImagePull when a puller's error wraps
	// [ErrRegistryUnavailable] or [ErrSignatureInvalid].
	ReasonRegistryUnavailable       = "RegistryUnavailable"
	ReasonSignatureValidationFailed = "SignatureValidationFailed"
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
func NeedsInspect(container *v1.Container) bool { return false }

// ImageName returns the name to inspect and pull: the image as it stands, with
// ":latest" appended if it has neither tag nor digest. The error is about a name
// that is no image reference.
func ImageName(image string) (string, error) { return image, nil }

// DecideImage decides for a runtime that has an [ImagePuller]. Without one, images
// are opaque: there is nothing to decide, whatever their names and policies.
func DecideImage(in ImageInput) ImageDecision { return ImageDecision{} }

// PullFailure returns the reason and message for the container's waiting state
// and the event, after a pull of the image failed with err.
func PullFailure(container *v1.Container, err error) (reason, message string, event Event) {
	return "", "", Event{}
}

// PullSuccess returns the event for an image that was pulled, which took that
// long, of which the pull itself took so much; they differ where pulls queue.
// A negative size is not known and is left out.
func PullSuccess(container *v1.Container, total, pull time.Duration, size int64) Event {
	return Event{}
}

// PullBackoff remembers the pulls of one pod that failed, by image name: the next
// pull waits 10 s from the failure, doubling to 5 min. It is a value; methods
// return a changed copy, and the zero value is ready for use.
type PullBackoff struct {
	Config  BackoffConfig
	entries map[string]pullEntry
}

type pullEntry struct{}

// Failed returns the back-off after a pull of the image failed at now.
func (b PullBackoff) Failed(image string, err error, now time.Time) PullBackoff { return b }

// Succeeded returns the back-off after the image was pulled at now.
func (b PullBackoff) Succeeded(image string, now time.Time) PullBackoff { return b }
