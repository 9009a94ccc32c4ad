package runtime

// Reasons for a container that waits, in its state and in [StartResult].
const (
	ReasonCrashLoopBackOff = "CrashLoopBackOff"

	// These are for its image.
	ReasonInvalidImageName  = "InvalidImageName"
	ReasonImageInspectError = "ImageInspectError"
	ReasonErrImageNeverPull = "ErrImageNeverPull"
	ReasonErrImagePull      = "ErrImagePull"
	ReasonImagePullBackOff  = "ImagePullBackOff"
	// These two stand for ErrImagePull when a puller's error wraps
	// [ErrRegistryUnavailable] or [ErrSignatureInvalid].
	ReasonRegistryUnavailable       = "RegistryUnavailable"
	ReasonSignatureValidationFailed = "SignatureValidationFailed"

	// These are for a start that failed: before the container was made, while it
	// was, while it was started, and by its postStart hook.
	ReasonCreateContainerConfigError = "CreateContainerConfigError"
	ReasonCreateContainerError       = "CreateContainerError"
	ReasonRunContainerError          = "RunContainerError"
	ReasonPostStartHookError         = "PostStartHookError"
)
