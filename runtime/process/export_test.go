//go:build unix

package process

import "time"

// SetPatience sets how long a keeper may take to answer.
func SetPatience(b *Backend, d time.Duration) { b.patience = d }
