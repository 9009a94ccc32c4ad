//go:build !linux

package durable

import "os"

func syncFiles(files []*os.File) (syncs int, err error) { return syncEach(files) }
