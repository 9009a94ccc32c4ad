package source

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// racy is how young a file must be for its stamp not to be trusted: two writes
// within the clock's grain leave the same time behind.
const racy = 2 * time.Second

// entry is what is known of one manifest file.
type entry[T any] struct {
	info   fs.FileInfo // as it was when it was read
	racy   bool        // read so soon after a write that info may hide another
	sum    [sha256.Size]byte
	parsed bool

	// items are the last good ones; they stay while the file is bad.
	items    []T
	warnings []string
	err      error
}

// refresh reads the file again if it may have changed, and tells whether what
// it says did.
func (e *entry[T]) refresh(decode func([]byte, string) decoded[T], path string) (changed bool) {
	info, err := os.Stat(path)
	if err != nil {
		return e.unreadable(path, err)
	}
	if e.parsed && !e.racy && sameStamp(e.info, info) {
		return false
	}
	data, info, err := readManifest(path)
	if err != nil {
		return e.unreadable(path, err)
	}
	e.info, e.racy = info, time.Since(info.ModTime()) < racy
	sum := sha256.Sum256(data)
	if e.parsed && sum == e.sum {
		return false
	}
	e.sum, e.parsed = sum, true
	e.accept(decode(data, path))
	return true
}

// accept takes what a manifest came to: a bad one leaves what was good last.
func (e *entry[T]) accept(result decoded[T]) {
	e.warnings, e.err = result.warnings, nil
	if len(result.errs) == 0 {
		e.items = result.items
		return
	}
	var errs []error
	for _, bad := range result.errs {
		bad.Kept = len(e.items) > 0
		errs = append(errs, bad)
	}
	e.err = errors.Join(errs...)
}

// unreadable notes that the file can't be read. It is parsed anew when it can.
func (e *entry[T]) unreadable(path string, err error) (changed bool) {
	bad := &podmanager.ManifestError{File: path, Kind: podmanager.ManifestRead, Kept: len(e.items) > 0, Err: plain(err)}
	changed = e.err == nil || e.err.Error() != bad.Error()
	e.err, e.warnings, e.parsed = bad, nil, false
	return changed
}

func sameStamp(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

var errNotRegular = errors.New("neither a regular file nor a link to one")

// readTimeout bounds the wait for a file that has nothing to read yet. Only a
// file that is no file makes one wait, whatever it says it is: /proc/kmsg.
const readTimeout = time.Second

// readManifest reads a regular file and nothing else. It is opened without
// waiting, for it may have turned into a FIFO since it was looked at.
func readManifest(path string) ([]byte, fs.FileInfo, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	_ = f.SetReadDeadline(time.Now().Add(readTimeout)) // an ordinary file has none
	data, err := io.ReadAll(io.LimitReader(f, manifest.MaxBytes))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, nil, errNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	if len(data) >= manifest.MaxBytes {
		return nil, nil, errTooLarge
	}
	return data, info, nil
}

var errTooLarge = fmt.Errorf("%d bytes or more", manifest.MaxBytes)

// plain takes the path out of an error that names it a second time.
func plain(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
