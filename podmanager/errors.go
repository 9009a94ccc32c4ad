package podmanager

import "strings"

// ManifestErrorKind says at which step a manifest was refused.
type ManifestErrorKind string

// The steps, in their order.
const (
	ManifestRead         ManifestErrorKind = "read"          // unreadable, too large, not a regular file
	ManifestDecode       ManifestErrorKind = "decode"        // neither YAML nor JSON of a known kind
	ManifestNotAPod      ManifestErrorKind = "not-a-pod"     // some other kind of object
	ManifestNotAnObject  ManifestErrorKind = "not-an-object" // neither a ConfigMap nor a Secret
	ManifestNoName       ManifestErrorKind = "no-name"       // metadata.name is empty
	ManifestValidation   ManifestErrorKind = "validation"    // a field is invalid
	ManifestAPIReference ManifestErrorKind = "api-reference" // a static pod refers to the API
)

// ManifestError is one refused manifest. The rest of its source is not
// affected.
type ManifestError struct {
	// File is the path or URL that the manifest came from.
	File string
	// Pod is namespace/name, as far as it was read.
	Pod  string
	Kind ManifestErrorKind
	// Kept is set when the last good version of this manifest stays in force.
	Kept bool
	// Err is the reason; for ManifestValidation a field.ErrorList's aggregate,
	// whose messages begin with the field's path.
	Err error
}

// Error gives file, pod and reason in one line.
func (e *ManifestError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Pod != "" {
		b.WriteString(": pod " + e.Pod)
	}
	b.WriteString(": " + e.Err.Error())
	if e.Kept {
		b.WriteString(" (the last valid version stays in force)")
	}
	return b.String()
}

// Unwrap returns the reason.
func (e *ManifestError) Unwrap() error { return e.Err }
