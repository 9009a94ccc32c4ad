//go:build unix && !linux

package keeper

import (
	"os"
	"path/filepath"
)

// program is taken at the start, before anybody changes folder.
var program, programErr = os.Executable()

func thisProgram() (string, error) { return program, programErr }

// shortPath leads to a socket through a link in the folder of temporary files.
func shortPath(dir string) (path string, done func(), err error) {
	temp, err := os.MkdirTemp("", "kp")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(temp) }
	if err := os.Symlink(dir, filepath.Join(temp, "s")); err != nil {
		done()
		return "", nil, err
	}
	return filepath.Join(temp, "s", Socket), done, nil
}
