//go:build !linux

package podruntime_test

import "testing"

func mayMount(*testing.T) bool { return false }

func inMemory(*testing.T, string) bool { return false }
