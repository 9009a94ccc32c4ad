//go:build unix

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// decodeSandbox reads a sandbox's record, which must be that of the ID.
func decodeSandbox(id string, data []byte) (keeper.Sandbox, error) {
	var rec keeper.Sandbox
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, err
	}
	switch {
	case rec.ID != id:
		return rec, fmt.Errorf("it is of sandbox %.80q", rec.ID)
	case rec.UID == "":
		return rec, errors.New("it has no pod UID")
	}
	return rec, nil
}

// decodeContainer reads a container's record, which must be that of the sandbox
// and bear the name.
func decodeContainer(sandboxID, name string, data []byte) (keeper.Container, error) {
	var rec keeper.Container
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, err
	}
	of, ok := sandboxOf(rec.ID)
	switch {
	case !ok || of != sandboxID || keeper.ContainerPrefix+keeper.Suffix(rec.ID) != name:
		return rec, fmt.Errorf("it is of container %.80q", rec.ID)
	case rec.Name == "":
		return rec, errors.New("the container has no name")
	case rec.State != keeper.Created && rec.State != keeper.Running && rec.State != keeper.Exited:
		return rec, fmt.Errorf("%.80q is no state", rec.State)
	case rec.State == keeper.Running && rec.PID <= 1:
		return rec, fmt.Errorf("%d is no process", rec.PID)
	}
	return rec, nil
}

// loadTimeout bounds how long New waits for the keeper of a damaged sandbox.
const loadTimeout = 5 * time.Second

// load finds the sandboxes of the root.
func (b *Backend) load() error {
	entries, err := os.ReadDir(b.sandboxesDir())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	for _, e := range entries {
		if e.IsDir() && isSandboxID(e.Name()) {
			b.loadSandbox(ctx, e.Name())
		}
	}
	return nil
}

// loadSandbox reads one sandbox. One whose record is damaged is asked of its
// keeper; when that is gone too, nothing is known of it, and what may still run
// is killed.
func (b *Backend) loadSandbox(ctx context.Context, id string) {
	s := &sandbox{dir: filepath.Join(b.sandboxesDir(), id)}
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		b.report(err)
		return
	}
	data, err := records.Read(keeper.SandboxRecord)
	if err == nil {
		if s.rec, err = decodeSandbox(id, data); err != nil {
			err = records.SetAside(keeper.SandboxRecord, err)
		}
	}
	if err == nil {
		b.add(s)
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		b.report(err)
	}
	resp, err := keeper.Call(ctx, s.dir, &keeper.Request{Op: keeper.OpList})
	switch {
	case err == nil && resp.Sandbox != nil && resp.Sandbox.ID == id:
		s.rec = *resp.Sandbox
		if err := writeSandbox(s); err != nil {
			b.report(fmt.Errorf("sandbox %s: %w", id, err))
		}
		b.add(s)
	case err == nil || errors.Is(err, keeper.ErrGone):
		_, _ = keeper.Call(ctx, s.dir, &keeper.Request{Op: keeper.OpShutdown})
		b.discard(ctx, s, id)
	default:
		b.report(fmt.Errorf("sandbox %s: %w", id, err))
	}
}

// discard clears up after a sandbox of which nothing is known: one whose making
// was cut short, or whose record is lost. A folder with something set aside in
// it stays, for people to look at.
func (b *Backend) discard(ctx context.Context, s *sandbox, id string) {
	if err := killLeftovers(ctx, id, nil); err != nil {
		b.report(fmt.Errorf("sandbox %s: %w", id, err))
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		b.report(err)
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), keeper.SandboxRecord+".") {
			return
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		b.report(err)
	}
}

func (b *Backend) report(err error) {
	b.problems = append(b.problems, err)
	b.cfg.Logger.Error("damaged state", "err", err)
}
