package durable

import (
	"os"
	"runtime"
)

func syncEach(files []*os.File) error {
	for _, file := range files {
		if err := file.Sync(); err != nil {
			return err
		}
	}
	return nil
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
