package source

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrMissing is wrapped by the error of a [File] whose path does not exist.
var ErrMissing = errors.New("no such file or folder")

// ErrEmptyBody is wrapped by the error of an [HTTP] source that got nothing.
var ErrEmptyBody = errors.New("the server answered with an empty body")

// StatusError is the answer of a server that gave no manifest.
type StatusError struct{ Code int }

// Error names the status code and its text.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.Code, http.StatusText(e.Code))
}
