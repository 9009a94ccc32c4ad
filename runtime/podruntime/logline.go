package podruntime

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// A log is a file of lines in the format of the CRI:
//
//	2026-01-02T15:04:05.999999999Z stdout F some text
//
// F ends a line of the container; P is a piece of one, which goes on in the
// next line of the same stream. Tags may follow F or P after a colon.

// lineHeader is what stands before the text of a line.
type lineHeader struct {
	time    time.Time
	stamp   []byte // time as it is written
	partial bool
}

// maxHeader is the most that a header may take: it is found in the beginning of a
// line, however long that is.
const maxHeader = 128

// parseLine takes the header off a line, or off the beginning of a long one.
// False means that the line is not in the format.
func parseLine(line []byte) (lineHeader, []byte, bool) {
	stamp, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok || len(stamp) > 64 {
		return lineHeader{}, nil, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return lineHeader{}, nil, false
	}
	stream, rest, ok := bytes.Cut(rest, []byte{' '})
	if !ok || string(stream) != "stdout" && string(stream) != "stderr" {
		return lineHeader{}, nil, false
	}
	tags, text, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		// An empty line may be written without its last space.
		tags = bytes.TrimSuffix(rest, []byte{'\n'})
		text = rest[len(tags):]
	}
	tag, _, _ := bytes.Cut(tags, []byte{':'})
	if string(tag) != "F" && string(tag) != "P" || len(line)-len(text) > maxHeader {
		return lineHeader{}, nil, false
	}
	return lineHeader{time: t, stamp: stamp, partial: string(tag) == "P"}, text, true
}

// lineReader turns a log file into what the container wrote. Lines that are not
// in the format are left out, and one of any length passes in pieces.
type lineReader struct {
	src  *bufio.Reader
	opts runtime.LogOptions

	out     []byte // ready to be read
	pending []byte // beginning of a line whose end is not written yet
	inLine  bool   // the header of the line was read, its text goes on
	skip    bool   // the text of this line is left out
	partial bool   // this line is a piece
	joined  bool   // the text goes on from a piece before it
}

func newLineReader(src io.Reader, opts runtime.LogOptions) *lineReader {
	return &lineReader{src: bufio.NewReaderSize(src, 64<<10), opts: opts}
}

// Read gives io.EOF where the source has no more; it may be called again when
// the source has grown. A line without an end is kept back until it has one.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// fill reads one line, or the next part of a long one.
func (r *lineReader) fill() error {
	part, err := r.src.ReadSlice('\n')
	switch {
	case err == nil, errors.Is(err, bufio.ErrBufferFull):
		if len(r.pending) > 0 {
			part = append(r.pending, part...)
			r.pending = nil
		}
		r.take(part, err == nil)
		return nil
	case len(part) > 0 && errors.Is(err, io.EOF):
		if r.keep(part); len(r.out) > 0 {
			return nil
		}
	}
	return err
}

// keep sets aside the beginning of a line that is still being written. What is
// long enough to hold a header is not kept but passed on.
func (r *lineReader) keep(part []byte) {
	r.pending = append(r.pending, part...)
	if r.inLine || len(r.pending) > maxHeader {
		part, r.pending = r.pending, nil
		r.take(part, false)
	}
}

// finish puts out what was kept back, and tells whether that was anything: the
// file has ended, perhaps amid a line.
func (r *lineReader) finish() bool {
	part := r.pending
	r.pending = nil
	if len(part) > 0 {
		r.take(part, false)
		r.joined = r.partial
	}
	r.inLine = false
	return len(r.out) > 0
}

// take consumes a part of a line; ends tells whether the line ends with it.
func (r *lineReader) take(part []byte, ends bool) {
	text := part
	if !r.inLine {
		text = r.begin(part)
	}
	r.inLine = !ends
	if r.skip {
		return
	}
	if ends && r.partial {
		text = bytes.TrimSuffix(text, []byte{'\n'})
	}
	r.out = append(r.out, text...)
	if ends {
		r.joined = r.partial
	}
}

// begin reads the header of a line, puts out the time if it is asked for, and
// returns the text.
func (r *lineReader) begin(part []byte) []byte {
	h, text, ok := parseLine(part)
	r.skip = !ok || !r.opts.SinceTime.IsZero() && h.time.Before(r.opts.SinceTime)
	if r.skip {
		return nil
	}
	r.partial = h.partial
	if r.opts.Timestamps && !r.joined {
		r.out = append(append(r.out, h.stamp...), ' ')
	}
	return text
}

// tailStart finds where the last n lines of the container begin in a file, and
// how many there are if the file holds fewer. It reads backwards, as much as it
// needs. Pieces of one line are one line.
func tailStart(f *os.File, n int) (start int64, lines int, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	end := info.Size()
	if end == 0 || n <= 0 {
		return end, 0, nil
	}
	block := make([]byte, 32<<10)
	lineEnd := end // where the line that is being looked for ends
	for pos := end; pos > 0; {
		size := min(pos, int64(len(block)))
		pos -= size
		if _, err := f.ReadAt(block[:size], pos); err != nil {
			return 0, 0, err
		}
		for i := size - 1; i >= 0; i-- {
			if block[i] != '\n' || pos+i+1 == end {
				continue
			}
			next := pos + i + 1
			if isWhole(f, next, lineEnd) && lineEnd != end {
				if lines++; lines == n {
					return lineEnd, lines, nil
				}
			}
			lineEnd = next
		}
	}
	if isWhole(f, 0, lineEnd) && lineEnd != end {
		if lines++; lines == n {
			return lineEnd, lines, nil
		}
	}
	return 0, lines + 1, nil
}

// isWhole tells whether the line in the range ends a line of the container.
func isWhole(f *os.File, start, end int64) bool {
	head := make([]byte, min(end-start, maxHeader))
	if _, err := f.ReadAt(head, start); err != nil {
		return true
	}
	h, _, ok := parseLine(head)
	return !ok || !h.partial
}
