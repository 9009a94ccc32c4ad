//go:build unix

package process

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// An ID of a sandbox is 24 random hex digits; one of a container is its
// sandbox's, a dash and 12 more. IDs name files, so nothing else is taken for
// one.
const (
	sandboxDigits = 24
	suffixDigits  = 12
)

func newSandboxID() string { return randomHex(sandboxDigits) }

func newContainerID(sandboxID string) string { return sandboxID + "-" + randomHex(suffixDigits) }

func randomHex(digits int) string {
	raw := make([]byte, digits/2)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

func isSandboxID(id string) bool { return isHex(id, sandboxDigits) }

// sandboxOf returns the sandbox's part of a container's ID.
func sandboxOf(containerID string) (string, bool) {
	sandboxID, suffix, _ := strings.Cut(containerID, "-")
	return sandboxID, isSandboxID(sandboxID) && isHex(suffix, suffixDigits)
}

func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}
