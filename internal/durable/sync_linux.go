package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// manyFiles is the number from which one sync of the file system costs less
// than a sync of each file.
const manyFiles = 4

func syncFiles(files []*os.File) (syncs int, err error) {
	if len(files) < manyFiles {
		return syncEach(files)
	}
	return 1, unix.Syncfs(int(files[0].Fd()))
}
