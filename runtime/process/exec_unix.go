//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// Exec implements [runtime.Execer]. The command gets the environment, the
// working directory and the user of the container. What it leaves running in
// the background becomes a part of the container.
func (b *Backend) Exec(ctx context.Context, containerID string, command []string, streams runtime.ExecIO) (int, error) {
	code, err := b.exec(ctx, containerID, command, streams)
	if err != nil {
		return 0, fmt.Errorf("process: exec in container %s: %w", containerID, err)
	}
	return code, nil
}

func (b *Backend) exec(ctx context.Context, containerID string, command []string, streams runtime.ExecIO) (int, error) {
	if len(command) == 0 {
		return 0, errors.New("no command")
	}
	s, err := b.sandboxFor(containerID)
	if err != nil {
		return 0, err
	}
	if s.isGone() {
		return 0, errNotReady
	}
	pipes, err := openStreams(streams)
	if err != nil {
		return 0, err
	}
	code, err := keeper.Exec(ctx, s.dir, containerID, command, pipes.theirs)
	pipes.finish()
	return code, translate(err)
}

// execStreams are the pipes to a command, or the null device where there is
// nothing to carry.
type execStreams struct {
	theirs  [3]*os.File
	stdin   *os.File
	outputs []*os.File
	copying sync.WaitGroup
}

func openStreams(streams runtime.ExecIO) (*execStreams, error) {
	p := &execStreams{}
	err := p.openStdin(streams.Stdin)
	if err == nil {
		err = p.openOutput(1, streams.Stdout)
	}
	if err == nil {
		err = p.openOutput(2, streams.Stderr)
	}
	if err != nil {
		p.finish()
		return nil, err
	}
	return p, nil
}

func (p *execStreams) openStdin(from io.Reader) error {
	if from == nil {
		return p.openNull(0, os.O_RDONLY)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	p.theirs[0], p.stdin = theirs, ours
	// Nobody waits for this one: a reader that blocks can't be interrupted, and
	// ends with its caller.
	go func() {
		_, _ = io.Copy(ours, from)
		_ = ours.Close()
	}()
	return nil
}

func (p *execStreams) openOutput(number int, to io.Writer) error {
	if to == nil {
		return p.openNull(number, os.O_WRONLY)
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	_ = syscall.SetNonblock(int(theirs.Fd()), false)
	p.theirs[number] = theirs
	p.outputs = append(p.outputs, ours)
	p.copying.Go(func() {
		_ = keeper.ReadPipe(ours, func(chunk []byte) error {
			_, err := to.Write(chunk)
			return err
		})
		_ = ours.Close()
	})
	return nil
}

func (p *execStreams) openNull(number, flag int) error {
	null, err := os.OpenFile(os.DevNull, flag, 0)
	p.theirs[number] = null
	return err
}

// finish is called when the command ended: what it wrote is copied to the end,
// without waiting for what it left in the background.
func (p *execStreams) finish() {
	for _, file := range p.theirs {
		if file != nil {
			_ = file.Close()
		}
	}
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	for _, pipe := range p.outputs {
		keeper.FinishPipe(pipe)
	}
	p.copying.Wait()
}
