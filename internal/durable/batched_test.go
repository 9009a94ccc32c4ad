package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/durable"
)

func openBatched(t testing.TB, dir string, faults durable.Faults) *durable.Batched {
	t.Helper()
	b, damaged, err := durable.OpenBatched(dir, faults)
	require.NoError(t, err)
	require.Empty(t, damaged)
	return b
}

// contents are all records.
func contents(t testing.TB, b *durable.Batched) map[string]string {
	t.Helper()
	names, err := b.List()
	require.NoError(t, err)
	all := map[string]string{}
	for _, name := range names {
		data, err := b.Read(name)
		require.NoError(t, err)
		all[name] = string(data)
	}
	return all
}

func numberedRecords(n int, data string) []durable.Change {
	changes := make([]durable.Change, n)
	for i := range changes {
		changes[i] = durable.Change{Name: fmt.Sprint("r", i), Data: []byte(data)}
	}
	return changes
}

func filesIn(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestManyRecordsShareAFile(t *testing.T) {
	dir := t.TempDir()
	b := openBatched(t, dir, nil)
	require.NoError(t, b.Commit(numberedRecords(1000, "one")...))
	require.Equal(t, []string{"batch-1"}, filesIn(t, dir))
	require.NoError(t, b.Commit(durable.Change{Name: "r7", Data: []byte("two")}, durable.Change{Name: "r8", Remove: true}))
	require.Equal(t, []string{"batch-1", "r7"}, filesIn(t, dir))
	for range 2 {
		all := contents(t, b)
		require.Len(t, all, 999)
		require.Equal(t, "two", all["r7"])
		require.Equal(t, "one", all["r9"])
		_, err := b.Read("r8")
		require.ErrorIs(t, err, fs.ErrNotExist)
		b = openBatched(t, dir, nil)
	}

	require.NoError(t, b.Commit(numberedRecords(1000, "three")...))
	require.Equal(t, []string{"batch-2"}, filesIn(t, dir), "what is out of date goes")
	var gone []durable.Change
	for _, c := range numberedRecords(1000, "") {
		gone = append(gone, durable.Change{Name: c.Name, Remove: true})
	}
	require.NoError(t, b.Commit(gone...))
	require.Empty(t, filesIn(t, dir))
	require.Error(t, b.Commit(durable.Change{Name: "batch-1"}))
}

func TestLargeCommitMakesSeveralBatches(t *testing.T) {
	dir := t.TempDir()
	b := openBatched(t, dir, nil)
	require.NoError(t, b.Commit(numberedRecords(3000, "x")...))
	require.Len(t, filesIn(t, dir), 3)
	require.NoError(t, b.Commit(numberedRecords(100, strings.Repeat("y", 1<<20))...))
	require.Len(t, contents(t, openBatched(t, dir, nil)), 3000)
}

// Whatever is done, and whenever the agent is killed or the disk fails, each record
// is as it was before the change or after it, never anything older, and what was
// acknowledged stays.
func TestBatchedAgainstAModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			dir := t.TempDir()
			fuse := -1 // how many steps of the disk go well still; -1 is all
			faults := func(op durable.Op, _ string) error {
				switch {
				case fuse < 0 || op == durable.OpRead:
					return nil
				case fuse == 0:
					return errors.New("the disk is gone")
				}
				fuse--
				return nil
			}
			b := openBatched(t, dir, faults)
			model := map[string]string{}
			for step := range 30 {
				changes, after := drawChanges(rng, step, model)
				fuse = -1
				if rng.IntN(3) == 0 {
					fuse = rng.IntN(2*len(changes) + 2)
				}
				err := b.Commit(changes...)
				fuse = -1
				if rng.IntN(2) == 0 {
					b = openBatched(t, dir, faults)
				}
				if err != nil {
					betweenTwo(t, contents(t, openBatched(t, dir, nil)), model, after)
					require.NoError(t, b.Commit(changes...), "what failed can be tried again")
				}
				model = after
				require.Equal(t, model, contents(t, b))
			}
			require.Equal(t, model, contents(t, openBatched(t, dir, nil)))
		})
	}
}

// drawChanges makes a commit, and what the records are after it.
func drawChanges(rng *rand.Rand, step int, model map[string]string) ([]durable.Change, map[string]string) {
	after := map[string]string{}
	for name, data := range model {
		after[name] = data
	}
	var changes []durable.Change
	many := rng.IntN(3) == 0
	for i := range 120 {
		name := fmt.Sprint("r", i)
		switch n := rng.IntN(100); {
		case many && n < 80, n < 4:
			after[name] = fmt.Sprintf("step %d of %s\n", step, name)
			changes = append(changes, durable.Change{Name: name, Data: []byte(after[name])})
		case n >= 95:
			delete(after, name)
			changes = append(changes, durable.Change{Name: name, Remove: true})
		}
	}
	return changes, after
}

func betweenTwo(t *testing.T, got, before, after map[string]string) {
	t.Helper()
	for i := range 120 {
		name := fmt.Sprint("r", i)
		data, there := got[name]
		old, wasThere := before[name]
		new, isThere := after[name]
		if (data != old || there != wasThere) && (data != new || there != isThere) {
			require.Failf(t, "neither before nor after", "%s: %q; before %q, after %q", name, data, old, new)
		}
	}
}

// Damage in a batch harms the record alone that it hits, and the next one where what
// stands between the two is hit.
func TestDamageInABatch(t *testing.T) {
	records := numberedRecords(100, "some data")
	whole := t.TempDir()
	require.NoError(t, openBatched(t, whole, nil).Commit(records...))
	raw, err := os.ReadFile(filepath.Join(whole, "batch-1"))
	require.NoError(t, err)
	for at := 0; at < len(raw); at += 97 {
		for _, bent := range [][]byte{raw[:at], append(append(bytes.Clone(raw[:at]), raw[at]^0x41), raw[at+1:]...)} {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "batch-1"), bent, 0o600))
			b, damaged, err := durable.OpenBatched(dir, nil)
			require.NoError(t, err)
			require.Len(t, damaged, 1)
			aside, err := os.ReadFile(filepath.Join(dir, damaged[0].Aside))
			require.NoError(t, err)
			require.Equal(t, string(bent), string(aside))
			all := contents(t, b)
			if len(bent) == len(raw) {
				require.GreaterOrEqual(t, len(all), 98)
			} else {
				require.InDelta(t, at*100/len(raw), len(all), 5)
			}
			for _, data := range all {
				require.Equal(t, "some data", data)
			}
			require.Equal(t, all, contents(t, openBatched(t, dir, nil)), "it is reported once")
		}
	}
}

// A record that was newer and is damaged does not bring an older one back.
func TestDamagedRecordOfItsOwnHidesOlderOnes(t *testing.T) {
	dir := t.TempDir()
	b := openBatched(t, dir, nil)
	require.NoError(t, b.Commit(numberedRecords(100, "old")...))
	require.NoError(t, b.Commit(durable.Change{Name: "r1", Data: []byte("new")}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r1"), []byte("bent"), 0o600))
	b = openBatched(t, dir, nil)
	var corrupt *durable.CorruptError
	_, err := b.Read("r1")
	require.ErrorAs(t, err, &corrupt)
	require.FileExists(t, filepath.Join(dir, corrupt.Aside))
	require.Len(t, contents(t, b), 99)
	require.Len(t, contents(t, openBatched(t, dir, nil)), 99)

	aside := b.SetAside("r2", errors.New("it makes no sense"))
	require.FileExists(t, filepath.Join(dir, aside.Aside))
	require.Len(t, contents(t, b), 98)
	require.Len(t, contents(t, openBatched(t, dir, nil)), 98)
}

func BenchmarkBatchedCommit(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			folder := openBatched(b, b.TempDir(), nil)
			changes := numberedRecords(n, strings.Repeat("x", 400))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, folder.Commit(changes...))
			}
		})
	}
}
