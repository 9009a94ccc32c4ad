//go:build !linux

package durable

import "os"

func syncFiles(files []*os.File) error { return syncEach(files) }
