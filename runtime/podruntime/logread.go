package podruntime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// followEvery is how often a log that is followed is looked at.
const followEvery = 250 * time.Millisecond

// Logs opens the log of a container: through the backend where it is a
// [runtime.LogReader], otherwise the file at its log path, preceded by those
// that were rotated away from it (uncompressed, named LOGPATH.SUFFIX, in the
// order of their suffixes). A container that the backend does not know is
// [runtime.ErrNotFound]; one that wrote nothing has an empty log.
func (r *Runtime) Logs(ctx context.Context, containerID string, opts runtime.LogOptions) (io.ReadCloser, error) {
	if b, ok := r.cfg.Backend.(runtime.LogReader); ok {
		return b.Logs(ctx, containerID, opts)
	}
	c, err := r.cfg.Backend.ContainerStatus(ctx, containerID)
	if err != nil {
		return nil, fmt.Errorf("logs of container %s: %w", containerID, err)
	}
	if c.LogPath == "" {
		return nil, fmt.Errorf("logs of container %s: no log path: %w", containerID, runtime.ErrNotSupported)
	}
	alive := func(ctx context.Context) bool {
		c, err := r.cfg.Backend.ContainerStatus(ctx, containerID)
		return err == nil && c.State != runtime.StateExited
	}
	log, err := openLog(ctx, c.LogPath, opts, alive)
	if err != nil {
		return nil, fmt.Errorf("logs of container %s: %w", containerID, err)
	}
	return log, nil
}

// logStream reads a log over all its files, oldest first. Like any reader it is
// used by one goroutine at a time; it has none of its own.
type logStream struct {
	ctx    context.Context
	cancel context.CancelFunc
	path   string
	opts   runtime.LogOptions
	// alive tells whether the container may still write; looked at when
	// following, after the end was reached.
	alive func(context.Context) bool

	file  *os.File // being read; nil before the first and after the last
	lines *lineReader
	last  bool // the container had ended before the end was reached
}

// openLog opens the log at the path, from where opts want it.
func openLog(ctx context.Context, path string, opts runtime.LogOptions, alive func(context.Context) bool) (*logStream, error) {
	s := &logStream{path: path, opts: opts, alive: alive}
	file, err := firstFile(logFiles(path), opts.TailLines)
	if err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.use(file)
	return s, nil
}

func (s *logStream) use(file *os.File) {
	s.file = file
	if file == nil {
		return
	}
	lines := newLineReader(file, s.opts)
	if s.lines != nil {
		lines.joined = s.lines.joined // a line may go on over a rotation
	}
	s.lines = lines
}

// logFiles lists the files of a log, oldest first.
func logFiles(path string) []string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	base := filepath.Base(path)
	var rotated []string
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), base+".")
		if ok && !strings.HasSuffix(suffix, "gz") && !strings.HasSuffix(suffix, "tmp") {
			rotated = append(rotated, path+"."+suffix)
		}
	}
	slices.Sort(rotated)
	return append(rotated, path)
}

// firstFile opens the file to begin with, at the place to begin at: the start
// of the oldest, or where the last lines begin. Nil means that there is none.
func firstFile(files []string, tail int) (*os.File, error) {
	if tail <= 0 {
		return openNext(files)
	}
	var oldest *os.File
	for _, path := range slices.Backward(files) {
		f, err := openRegular(filepath.Dir(path), filepath.Base(path))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			if oldest != nil {
				err = errors.Join(err, oldest.Close())
			}
			return nil, err
		}
		start, n, err := tailStart(f, tail)
		if err == nil {
			_, err = f.Seek(start, io.SeekStart)
		}
		if oldest != nil {
			err = errors.Join(err, oldest.Close())
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		oldest = f
		if tail -= n; tail <= 0 {
			break
		}
	}
	return oldest, nil
}

// openNext opens the first of the files that is there.
func openNext(files []string) (*os.File, error) {
	for _, path := range files {
		f, err := openRegular(filepath.Dir(path), filepath.Base(path))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
	}
	return nil, nil
}

// Read implements io.Reader. It blocks only when following.
func (s *logStream) Read(p []byte) (int, error) {
	for {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		if s.file != nil {
			n, err := s.lines.Read(p)
			if n > 0 || !errors.Is(err, io.EOF) {
				return n, err
			}
		}
		more, err := s.advance()
		if err != nil {
			return 0, err
		}
		if !more && (s.file == nil || len(s.lines.out) == 0) {
			return 0, io.EOF
		}
	}
}

// advance is called at the end of a file: it goes on to the next one, or waits
// for more. False means that there will be none.
func (s *logStream) advance() (bool, error) {
	next, err := s.next()
	if err != nil {
		return false, err
	}
	if next != nil {
		if s.file != nil {
			// First what was written between the last read and the rotation.
			if !s.drained() || s.lines.finish() {
				return true, next.Close()
			}
			err = s.file.Close()
		}
		s.use(next)
		return true, err
	}
	if !s.opts.Follow || s.last {
		if s.file != nil {
			s.lines.finish()
		}
		return false, nil
	}
	// The container is asked before the file is read once more, so that
	// nothing it wrote at its end is missed.
	s.last = !s.alive(s.ctx)
	if s.last {
		return true, nil
	}
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true, nil
	case <-s.ctx.Done():
		return false, s.ctx.Err()
	}
}

// drained tells whether the current file has nothing left.
func (s *logStream) drained() bool {
	info, err := s.file.Stat()
	if err != nil {
		return true
	}
	pos, err := s.file.Seek(0, io.SeekCurrent)
	return err != nil || pos >= info.Size()
}

// next opens the file after the current one, if there is one. A current file
// that has been removed is followed by the live one.
func (s *logStream) next() (*os.File, error) {
	files := logFiles(s.path)
	if s.file == nil {
		return openNext(files)
	}
	current, err := s.file.Stat()
	if err != nil {
		return nil, err
	}
	for i, path := range files {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, current) {
			return openNext(files[i+1:])
		}
	}
	return openNext([]string{s.path})
}

// Close ends the stream; a Read that waits returns.
func (s *logStream) Close() error {
	s.cancel()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
