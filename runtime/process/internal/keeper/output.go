//go:build unix

package keeper

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// output carries what a container writes into its log.
type output struct {
	log            *logFile
	stdout, stderr *os.File // the ends that are read
}

// openOutput opens the log and two pipes, whose writing ends it returns.
func openOutput(path string, maxBytes int64, maxFiles int) (out *output, stdout, stderr *os.File, err error) {
	log, err := openLog(path, maxBytes, maxFiles)
	if err != nil {
		return nil, nil, nil, err
	}
	out = &output{log: log}
	if out.stdout, stdout, err = os.Pipe(); err != nil {
		log.Close()
		return nil, nil, nil, err
	}
	if out.stderr, stderr, err = os.Pipe(); err != nil {
		closeAll([]*os.File{out.stdout, stdout})
		log.Close()
		return nil, nil, nil, err
	}
	// A child gets what an ordinary program expects: writes that block.
	_ = syscall.SetNonblock(int(stdout.Fd()), false)
	_ = syscall.SetNonblock(int(stderr.Fd()), false)
	return out, stdout, stderr, nil
}

// copy reads until both pipes are at their end, or told to finish, and then
// calls done.
func (o *output) copy(done func()) {
	var both sync.WaitGroup
	for stream, pipe := range map[string]*os.File{"stdout": o.stdout, "stderr": o.stderr} {
		both.Go(func() {
			s := lineSplitter{stream: stream}
			_ = ReadPipe(pipe, func(chunk []byte) error {
				o.log.write(s.split(time.Now(), chunk))
				return nil
			})
			o.log.write(s.end(time.Now()))
			_ = pipe.Close()
		})
	}
	go func() {
		both.Wait()
		o.log.Close()
		done()
	}()
}

// finish ends the reading once all that is in the pipes has been read, although
// somebody may still hold their other ends.
func (o *output) finish() {
	FinishPipe(o.stdout)
	FinishPipe(o.stderr)
}

// discard closes an output that nobody got.
func (o *output) discard() {
	closeAll([]*os.File{o.stdout, o.stderr})
	o.log.Close()
}

// ReadPipe hands what it reads to the sink, until the end of the pipe, or until
// [FinishPipe] was called and the pipe is empty, or until the sink fails.
func ReadPipe(pipe *os.File, sink func([]byte) error) error {
	buffer := make([]byte, maxLine)
	for {
		n, err := pipe.Read(buffer)
		if n > 0 {
			if err := sink(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return readRest(pipe, buffer, sink)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// FinishPipe ends a [ReadPipe].
func FinishPipe(pipe *os.File) { _ = pipe.SetReadDeadline(time.Unix(1, 0)) }

// pipeLimit is the most that a pipe holds of what anybody may write without being
// root.
const pipeLimit = 1 << 20

// readRest reads what is in the pipe without waiting for more. Who still writes,
// and faster than this reads, is not read for ever.
func readRest(pipe *os.File, buffer []byte, sink func([]byte) error) error {
	if err := pipe.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	for left := pipeLimit; left > 0; {
		var n int
		var readErr error
		if err := raw.Read(func(fd uintptr) bool {
			n, readErr = syscall.Read(int(fd), buffer)
			return true
		}); err != nil {
			return err
		}
		switch {
		case errors.Is(readErr, syscall.EINTR):
		case readErr != nil || n <= 0:
			return nil
		default:
			if err := sink(buffer[:n]); err != nil {
				return err
			}
			left -= n
		}
	}
	return nil
}
