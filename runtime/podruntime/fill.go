package podruntime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// Names in a folder that is filled.
const (
	currentName = "..data"      // a link to the version in force
	nextName    = "..data_next" // the link that takes its place
	pinnedName  = "..subpath"   // what containers hold on to, see pin
)

// fill makes a folder hold the payload and nothing else, in one step for those
// who read it, the way that the kubelet does:
//
//	DIR/..2026-11-21T14:30:05-1234/app.conf   one version of all files
//	DIR/..data    ─▶ ..2026-11-21T14:30:05-1234  renamed over the one before
//	DIR/app.conf  ─▶ ..data/app.conf
//
// A reader that keeps ..data/app.conf open reads one version to its end; one
// that watches sees ..data change. A folder that holds the payload already is
// left alone. With a group, 0 or more, the files are that group's to read.
//
// Whatever a container did to the folder, nothing outside of it is touched.
func fill(dir string, p payload, group int) error {
	root, err := openVolume(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	version, err := root.Readlink(currentName)
	if err != nil || !holds(root, version, p) {
		if version, err = writeVersion(root, p, group); err != nil {
			return err
		}
	}
	return tidy(root, version, p)
}

// holds tells whether a version is the payload, file by file.
func holds(root *os.Root, version string, p payload) bool {
	if !strings.HasPrefix(version, "..") || strings.ContainsRune(version, '/') {
		return false
	}
	files := 0
	err := fs.WalkDir(root.FS(), version, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		want, ok := p[strings.TrimPrefix(name, version+"/")]
		if !ok || !e.Type().IsRegular() {
			return errDiffers
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() != int64(len(want.data)) || info.Mode().Perm()&want.mode != want.mode {
			return errDiffers
		}
		got, err := readRegular(root, name, len(want.data))
		if err == nil && !bytes.Equal(got, want.data) {
			err = errDiffers
		}
		return err
	})
	return err == nil && files == len(p)
}

var errDiffers = errors.New("it differs")

// readRegular reads a file that had so many bytes a moment ago, and no more than
// one beyond them. A container may have put something else in its place: a FIFO
// is not waited for, and a file of the disk's size not taken into memory.
func readRegular(root *os.Root, name string, size int) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errDiffers)
	}
	return io.ReadAll(io.LimitReader(f, int64(size)+1))
}

// writeVersion writes all files anew and puts them into force.
func writeVersion(root *os.Root, p payload, group int) (string, error) {
	version := fmt.Sprintf("..%s-%d", time.Now().UTC().Format("2006-01-02T15:04:05"), rand.Uint64())
	err := root.Mkdir(version, 0o755)
	for name, file := range p {
		if err == nil {
			err = writeFile(root, path.Join(version, name), file, group)
		}
	}
	if err == nil {
		err = openFolders(root, version)
	}
	if err == nil {
		_ = root.RemoveAll(nextName)
		err = root.Symlink(version, nextName)
	}
	if err == nil {
		err = root.Rename(nextName, currentName)
	}
	if err != nil {
		_ = root.RemoveAll(version)
		return "", withoutPath(err)
	}
	return version, nil
}

func writeFile(root *os.Root, name string, file payloadFile, group int) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	// Nothing that is there already is written to: it may be a container's FIFO.
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(file.data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	mode := file.mode
	if group >= 0 {
		mode |= 0o440
		if err := root.Chown(name, -1, group); err != nil {
			return err
		}
	}
	return root.Chmod(name, mode)
}

// openFolders gives the folders the mode that the umask took a share of: who may
// pass is for what is above them to say.
func openFolders(root *os.Root, dir string) error {
	return fs.WalkDir(root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return root.Chmod(name, 0o755)
	})
}

// tidy makes the links to the files in force, and removes those to files that
// are no more and the versions that are not in force.
func tidy(root *os.Root, version string, p payload) error {
	wanted := make(map[string]bool, len(p))
	for name := range p {
		top, _, _ := strings.Cut(name, "/")
		wanted[top] = true
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == version, name == currentName, name == pinnedName:
		case wanted[name] && e.Type()&fs.ModeSymlink != 0:
			delete(wanted, name)
		case strings.HasPrefix(name, ".."), e.Type()&fs.ModeSymlink != 0:
			err = errors.Join(err, root.RemoveAll(name))
		}
	}
	for name := range wanted {
		if e := root.Symlink(path.Join(currentName, name), name); e != nil && !errors.Is(e, fs.ErrExist) {
			err = errors.Join(err, withoutPath(e))
		}
	}
	return err
}

// pin gives a mount of a part of the volume what it is now, under a path that
// later versions leave alone: a subPath is fixed when its container starts. What
// the holder, a mount of a container, held on to before goes. A part that the
// volume does not have is an empty folder.
func pin(dir, sub, holder string) (string, error) {
	root, err := openVolume(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	version, err := root.Readlink(currentName)
	if err != nil {
		return "", withoutPath(err)
	}
	to := path.Join(pinnedName, holder)
	if err := root.RemoveAll(to); err != nil {
		return "", withoutPath(err)
	}
	if err := root.MkdirAll(to, 0o755); err != nil {
		return "", withoutPath(err)
	}
	to = path.Join(to, "it")
	err = linkTree(root, path.Join(version, sub), to)
	if errors.Is(err, fs.ErrNotExist) {
		err = root.Mkdir(to, 0o755)
	}
	if err == nil {
		err = openFolders(root, pinnedName)
	}
	return path.Join(dir, to), withoutPath(err)
}

// linkTree repeats folders, and gives files a second name: no version is ever
// written to, and so neither is what is linked.
func linkTree(root *os.Root, from, to string) error {
	return fs.WalkDir(root.FS(), from, func(name string, e fs.DirEntry, err error) error {
		here := to + strings.TrimPrefix(name, from)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return root.Mkdir(here, 0o755)
		case e.Type().IsRegular():
			return root.Link(name, here)
		}
		return nil
	})
}
