//go:build linux

package keeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/durable"
)

// A keeper's test talks to a real one: this program, executed again.
type keeperCase struct {
	t   testing.TB
	dir string
	pid int
}

func spawn(t testing.TB) *keeperCase {
	t.Helper()
	k := &keeperCase{t: t, dir: t.TempDir()}
	records, err := durable.Open(k.dir, nil)
	require.NoError(t, err)
	require.NoError(t, records.Write(SandboxRecord, []byte("{}")))
	k.pid, err = Spawn(t.Context(), k.dir, &Sandbox{ID: "s", Name: "pod"})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = syscall.Kill(k.pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(k.pid, nil, 0, nil)
	})
	return k
}

func (k *keeperCase) call(req *Request) (*Response, error) {
	return Call(k.t.Context(), k.dir, req)
}

func (k *keeperCase) create(id, script string) error {
	_, err := k.call(&Request{
		Op:        OpCreate,
		Container: &Container{ID: id, Name: id},
		Command:   &Command{Argv: []string{"/bin/sh", "-c", script}, StopSignal: int(syscall.SIGTERM)},
	})
	return err
}

func (k *keeperCase) container(id string) (Container, string) {
	k.t.Helper()
	resp, err := k.call(&Request{Op: OpList})
	require.NoError(k.t, err)
	for _, c := range resp.Containers {
		if c.ID == id {
			return c, resp.Unsaved
		}
	}
	require.FailNow(k.t, "no container "+id)
	return Container{}, ""
}

func (k *keeperCase) recorded(id string) string {
	records, err := durable.Open(k.dir, nil)
	require.NoError(k.t, err)
	data, err := records.Read(recordName(id))
	if err != nil {
		return ""
	}
	return string(data)
}

func (k *keeperCase) eventually(ok func() bool) {
	k.t.Helper()
	deadline := time.After(5 * time.Minute)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-deadline:
			require.FailNow(k.t, "it did not come to pass")
		}
	}
}

// On a full disk nothing new is begun, what runs runs on, and how it ends is
// kept until there is room to record it.
func TestFullDisk(t *testing.T) {
	k := spawn(t)
	full := filepath.Join(k.dir, diskFull)
	require.NoError(t, k.create("s-1", "sleep 1000000"))
	_, err := k.call(&Request{Op: OpStart, ID: "s-1"})
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(full, nil, 0o600))
	err = k.create("s-2", "true")
	require.ErrorContains(t, err, "no space left on device")
	require.Empty(t, k.recorded("s-2"))
	_, err = k.call(&Request{Op: OpStop, ID: "s-1"})
	require.NoError(t, err)
	c, unsaved := k.container("s-1")
	require.Equal(t, Exited, c.State)
	require.EqualValues(t, 137, c.ExitCode)
	require.Contains(t, unsaved, "no space left on device")
	require.Contains(t, k.recorded("s-1"), `"State":"running"`)

	// The sandbox is stopped; the keeper stays until it could write.
	_, err = k.call(&Request{Op: OpShutdown})
	require.NoError(t, err)
	resp, err := k.call(&Request{Op: OpList})
	require.NoError(t, err)
	require.True(t, resp.Closing)
	require.NoError(t, os.Remove(full))
	k.eventually(func() bool {
		_, err := k.call(&Request{Op: OpList})
		return errors.Is(err, ErrGone)
	})
	require.Contains(t, k.recorded("s-1"), `"State":"exited"`)
	require.Contains(t, k.recorded("s-1"), `"ExitCode":137`)
}

// Where the folder is gone, there is nothing to wait for.
func TestFolderRemoved(t *testing.T) {
	k := spawn(t)
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, diskFull), nil, 0o600))
	require.Error(t, k.create("s-1", "true"))
	dir, err := os.Open(k.dir)
	require.NoError(t, err)
	defer dir.Close()
	_, err = k.call(&Request{Op: OpShutdown})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(k.dir))
	_, err = syscall.Wait4(k.pid, nil, 0, nil)
	require.NoError(t, err)
}

// A keeper whose root was removed ends by itself, and not before what runs: two ran
// on for an hour that nobody could reach any more.
func TestKeeperEndsWithItsFolder(t *testing.T) {
	k := spawn(t)
	elsewhere := t.TempDir()
	require.NoError(t, k.create("s-1", "touch "+elsewhere+"/runs; until test -e "+elsewhere+"/go; do sleep 0.01; done; touch "+elsewhere+"/ended"))
	require.NoError(t, k.create("s-2", "never started"))
	_, err := k.call(&Request{Op: OpStart, ID: "s-1"})
	require.NoError(t, err)
	exists := func(name string) bool { _, err := os.Stat(filepath.Join(elsewhere, name)); return err == nil }
	k.eventually(func() bool { return exists("runs") })
	require.NoError(t, os.Rename(k.dir, k.dir+".away")) // as a whole it can be put back
	require.NoError(t, os.RemoveAll(k.dir+".away"))
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "go"), nil, 0o600))
	var status syscall.WaitStatus
	_, err = syscall.Wait4(k.pid, &status, 0, nil)
	require.NoError(t, err)
	require.Zero(t, status.ExitStatus(), "it ended by itself")
	require.True(t, exists("ended"), "what ran came to its own end")
}

func TestUnknownRequests(t *testing.T) {
	k := spawn(t)
	_, err := k.call(&Request{Op: "fly"})
	require.EqualError(t, err, `"fly" is unknown to this keeper`)
	_, err = k.call(&Request{Op: OpStart, ID: "s-9"})
	require.ErrorIs(t, err, ErrUnknown)
	_, err = k.call(&Request{Op: OpCreate})
	require.EqualError(t, err, "incomplete request")
	_, err = k.call(&Request{Op: OpStop, ID: "s-9"})
	require.NoError(t, err)
	_, err = k.call(&Request{Op: OpRemove, ID: "s-9"})
	require.NoError(t, err)

	// Somebody who says nothing, or nonsense, harms nobody.
	silent, err := dial(t.Context(), k.dir)
	require.NoError(t, err)
	defer silent.Close()
	rude, err := dial(t.Context(), k.dir)
	require.NoError(t, err)
	_, err = rude.Write([]byte("\xff\xff\xff\xff and so on"))
	require.NoError(t, err)
	require.NoError(t, rude.Close())
	_, err = k.call(&Request{Op: OpList})
	require.NoError(t, err)
}

func TestGone(t *testing.T) {
	_, err := Call(t.Context(), t.TempDir(), &Request{Op: OpList})
	require.ErrorIs(t, err, ErrGone)
	require.ErrorIs(t, Watch(t.Context(), t.TempDir(), func() {}), ErrGone)

	k := spawn(t)
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan struct{}, 10)
	done := make(chan error, 1)
	go func() { done <- Watch(ctx, k.dir, func() { told <- struct{}{} }) }()
	<-told
	require.NoError(t, syscall.Kill(k.pid, syscall.SIGKILL))
	require.ErrorIs(t, <-done, ErrGone)
	cancel()
}
