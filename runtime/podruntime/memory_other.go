//go:build !linux

package podruntime

import "github.com/kubeparts/kubeparts/runtime"

func mountMemory(string) error { return runtime.ErrNotSupported }

func unmountMemory(string) error { return nil }
