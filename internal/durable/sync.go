package durable

import (
	"os"
	"runtime"
)

func syncEach(files []*os.File) (syncs int, err error) {
	for i, file := range files {
		if err := file.Sync(); err != nil {
			return i + 1, err
		}
	}
	return len(files), nil
}

// syncFolder makes names durable. Windows has no such call and needs none.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
