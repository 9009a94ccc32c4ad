//go:build !unix

package probe

import "time"

// setLinger leaves it to the system how long a closed connection stays.
func setLinger(uintptr, time.Duration) error { return nil }
