package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/durable"
)

func open(t testing.TB, faults durable.Faults) *durable.Folder {
	t.Helper()
	f, err := durable.Open(filepath.Join(t.TempDir(), "records"), faults)
	require.NoError(t, err)
	return f
}

// files are the names of everything that is in the folder.
func files(t testing.TB, f *durable.Folder) []string {
	t.Helper()
	entries, err := os.ReadDir(f.Path())
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteReadListRemove(t *testing.T) {
	f := open(t, nil)
	require.NoError(t, f.Write("b", []byte("two")))
	require.NoError(t, f.Write("a", nil))
	require.NoError(t, f.Write("b", []byte("three")))

	got, err := f.Read("b")
	require.NoError(t, err)
	require.Equal(t, "three", string(got))
	names, err := f.List()
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, names)

	require.NoError(t, f.Remove("b", "never-there"))
	_, err = f.Read("b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, []string{"a"}, files(t, f))
}

func TestRecordsAreForTheirOwner(t *testing.T) {
	f := open(t, nil)
	require.NoError(t, f.Write("a", []byte("x")))
	for path, want := range map[string]fs.FileMode{f.Path(): 0o700, filepath.Join(f.Path(), "a"): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), path)
	}
}

func TestBatch(t *testing.T) {
	f := open(t, nil)
	require.NoError(t, f.Write("old", []byte("x")))
	changes := []durable.Change{{Name: "old", Remove: true}}
	for i := range 20 {
		changes = append(changes, durable.Change{Name: fmt.Sprint("r", i), Data: []byte{byte(i)}})
	}
	require.NoError(t, f.Commit(changes...))
	records, damaged, err := f.ReadAll("")
	require.NoError(t, err)
	require.Empty(t, damaged)
	require.Len(t, records, 20)
	require.Equal(t, []byte{7}, records["r7"])
}

func TestDamagedRecordIsSetAside(t *testing.T) {
	damage := map[string]func(raw []byte) []byte{
		"a bit flipped":   func(raw []byte) []byte { raw[len(raw)-1] ^= 1; return raw },
		"half of it":      func(raw []byte) []byte { return raw[:len(raw)-2] },
		"more than it":    func(raw []byte) []byte { return append(raw, 'x') },
		"empty":           func([]byte) []byte { return nil },
		"something else":  func([]byte) []byte { return []byte(strings.Repeat("z", 200)) },
		"header bent":     func(raw []byte) []byte { raw[0] = 'K'; return raw },
		"zeros as by xfs": func(raw []byte) []byte { clear(raw); return raw },
	}
	for name, bend := range damage {
		t.Run(name, func(t *testing.T) {
			f := open(t, nil)
			require.NoError(t, f.Write("bad", []byte("data")))
			require.NoError(t, f.Write("good", []byte("data")))
			path := filepath.Join(f.Path(), "bad")
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, bend(raw), 0o600))

			records, damaged, err := f.ReadAll("")
			require.NoError(t, err)
			require.Equal(t, map[string][]byte{"good": []byte("data")}, records)
			require.Len(t, damaged, 1)
			require.FileExists(t, filepath.Join(f.Path(), damaged[0].Aside))
			require.ErrorContains(t, damaged[0], "record bad in "+f.Path()+" is corrupt, set aside as bad.corrupt-")

			_, err = f.Read("bad")
			require.ErrorIs(t, err, fs.ErrNotExist, "reported once")
		})
	}
}

// A disk that is full or read-only fails the write, keeps the old record and
// leaves nothing behind.
func TestFaults(t *testing.T) {
	for _, op := range []durable.Op{durable.OpWrite, durable.OpSync, durable.OpRename} {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EROFS} {
			t.Run(string(op)+"/"+errno.Error(), func(t *testing.T) {
				failing := false
				f := open(t, func(at durable.Op, name string) error {
					if failing && at == op && name == "b" {
						return errno
					}
					return nil
				})
				require.NoError(t, f.Write("b", []byte("old")))
				failing = true
				err := f.Write("b", []byte("new"))
				require.ErrorIs(t, err, errno)
				require.ErrorContains(t, err, "record b")
				got, err := f.Read("b")
				require.NoError(t, err)
				require.Equal(t, "old", string(got))
				require.Equal(t, []string{"b"}, files(t, f))
			})
		}
	}
}

func TestBatchWithoutSpaceChangesNothing(t *testing.T) {
	f := open(t, func(op durable.Op, name string) error {
		if op == durable.OpWrite && name == "c" {
			return syscall.ENOSPC
		}
		return nil
	})
	require.NoError(t, f.Write("a", []byte("old")))
	err := f.Commit(durable.Change{Name: "a", Data: []byte("new")}, durable.Change{Name: "c", Data: []byte("new")})
	require.ErrorIs(t, err, syscall.ENOSPC)
	got, err := f.Read("a")
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
	require.Equal(t, []string{"a"}, files(t, f))
}

func TestNamesStayInTheFolder(t *testing.T) {
	f := open(t, nil)
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".hidden", "a\x00b", "a b", "a.corrupt-1", strings.Repeat("x", 201)} {
		require.ErrorContains(t, f.Write(name, nil), "can't name a record", "%q", name)
		_, err := f.Read(name)
		require.ErrorContains(t, err, "can't name a record", "%q", name)
	}
	require.Empty(t, files(t, f))
}

func TestStrangersInTheFolder(t *testing.T) {
	f := open(t, nil)
	require.NoError(t, f.Write("a", nil))
	require.NoError(t, os.Mkdir(filepath.Join(f.Path(), "folder"), 0o700))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(f.Path(), "link")))
	require.NoError(t, os.WriteFile(filepath.Join(f.Path(), ".tmp-123"), []byte("half"), 0o600))

	records, damaged, err := f.ReadAll("")
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Empty(t, damaged)
	_, err = f.Read("link")
	var corrupt *durable.CorruptError
	require.True(t, errors.As(err, &corrupt), "a device is not read: %v", err)

	require.NoError(t, f.Sweep())
	require.NotContains(t, files(t, f), ".tmp-123")
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			f := open(b, nil)
			changes := make([]durable.Change, n)
			for i := range changes {
				changes[i] = durable.Change{Name: fmt.Sprint("r", i), Data: make([]byte, 1000)}
			}
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, f.Commit(changes...))
			}
		})
	}
}

func ExampleFolder() {
	dir, _ := os.MkdirTemp("", "durable")
	defer os.RemoveAll(dir)
	f, err := durable.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = f.Commit(
		durable.Change{Name: "pod-1", Data: []byte("admitted")},
		durable.Change{Name: "pod-2", Data: []byte("rejected")},
	)
	data, _ := f.Read("pod-1")
	names, _ := f.List()
	fmt.Println(string(data), names)
	// Output: admitted [pod-1 pod-2]
}
