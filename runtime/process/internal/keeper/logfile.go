//go:build unix

package keeper

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxLine is how much of a line is written at once; a longer one is written in
// parts, each tagged P but the last.
const maxLine = 16 << 10

// Layouts of the times in a log and in the name of a rotated file.
const (
	lineTime    = "2006-01-02T15:04:05.000000000Z07:00"
	rotatedTime = "20060102-150405.000000000"
)

// logFile is the log of a container, in the CRI's format:
//
//	2026-01-02T03:04:05.000000006Z stdout F hello
//
// A log that can't be written loses lines, for what is written to it must not
// hold up the container.
type logFile struct {
	mu    sync.Mutex
	path  string
	file  *os.File
	size  int64
	max   int64
	files int
}

func openLog(path string, maxBytes int64, maxFiles int) (*logFile, error) {
	l := &logFile{path: path, max: maxBytes, files: maxFiles}
	if path == "" {
		return l, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return l, l.open()
}

// open opens the file, or makes it. A container may have put anything in its
// place: a link is not followed, and a FIFO must not hold up the keeper.
func (l *logFile) open() error {
	const flags = os.O_CREATE | os.O_APPEND | os.O_WRONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	file, err := os.OpenFile(l.path, flags, 0o640)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", l.path)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// write appends whole lines.
func (l *logFile) write(lines []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.path != "" && len(lines) > 0 {
		n := l.fitting(lines)
		if n == 0 && l.size > 0 && l.rotate() {
			continue
		}
		if n == 0 {
			n = bytes.IndexByte(lines, '\n') + 1 // longer than a file, or no way to rotate
		}
		if l.file == nil && l.open() != nil {
			return
		}
		written, _ := l.file.Write(lines[:n])
		l.size += int64(written)
		lines = lines[n:]
	}
}

// fitting is how many bytes of the lines, in whole lines, the file has room for.
func (l *logFile) fitting(lines []byte) int {
	room := max(l.max-l.size, 0)
	if int64(len(lines)) <= room {
		return len(lines)
	}
	return bytes.LastIndexByte(lines[:room], '\n') + 1
}

// rotate gives the file a name with the time, so that the next line begins a new
// one, and removes the oldest. It tells whether that was possible.
func (l *logFile) rotate() bool {
	if os.Rename(l.path, l.path+"."+time.Now().UTC().Format(rotatedTime)) != nil {
		return false
	}
	l.close()
	rotated := rotatedLogs(l.path)
	for len(rotated) > l.files-1 {
		_ = os.Remove(rotated[0])
		rotated = rotated[1:]
	}
	return true
}

// rotatedLogs are the rotated files of a log, oldest first.
func rotatedLogs(path string) []string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if !ok {
			continue
		}
		if _, err := time.Parse(rotatedTime, stamp); err == nil {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(found)
	return found
}

func (l *logFile) close() {
	if l.file != nil {
		_ = l.file.Close()
		l.file, l.size = nil, 0
	}
}

func (l *logFile) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
}

// lineSplitter turns the bytes of one stream into lines of a log.
type lineSplitter struct {
	stream  string
	pending []byte // a line that has not ended
	partial bool   // parts of it were written
}

// split returns the lines that the chunk completes.
func (s *lineSplitter) split(now time.Time, chunk []byte) []byte {
	var out bytes.Buffer
	for len(chunk) > 0 {
		line, rest, ended := bytes.Cut(chunk, []byte{'\n'})
		for room := maxLine - len(s.pending); len(line) > room; room = maxLine {
			s.pending = append(s.pending, line[:room]...)
			line = line[room:]
			s.emit(&out, now, "P")
			s.partial = true
		}
		s.pending = append(s.pending, line...)
		if ended {
			s.emit(&out, now, "F")
			s.partial = false
		}
		chunk = rest
	}
	return out.Bytes()
}

// end returns the last line, which nothing ended.
func (s *lineSplitter) end(now time.Time) []byte {
	var out bytes.Buffer
	if len(s.pending) > 0 || s.partial {
		s.emit(&out, now, "F")
	}
	return out.Bytes()
}

func (s *lineSplitter) emit(out io.Writer, now time.Time, tag string) {
	entry := now.UTC().AppendFormat(make([]byte, 0, len(s.pending)+64), lineTime)
	entry = append(entry, ' ')
	entry = append(entry, s.stream...)
	entry = append(entry, ' ')
	entry = append(entry, tag...)
	entry = append(entry, ' ')
	entry = append(entry, s.pending...)
	_, _ = out.Write(append(entry, '\n'))
	s.pending = s.pending[:0]
}
