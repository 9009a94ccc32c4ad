package checkpoint_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
)

var manyRecords = flag.Int("records", 3000, "how many records TestManyRecords has")

// written is a place with these pods, and something that is remembered of each.
func written(t *testing.T, names ...string) *place {
	t.Helper()
	p := newPlace(t, checkpoint.All)
	folder := p.open()
	var pods []*v1.Pod
	var memories []checkpoint.Memory
	for _, name := range names {
		pods = append(pods, pod(name))
		memories = append(memories, checkpoint.Memory{UID: pod(name).UID, Data: []byte(`{"Admitted":true}`)})
	}
	require.NoError(t, folder.Checkpoint(t.Context(), []podmanager.Update{{Source: "http", Op: podmanager.OpAdd, Pods: pods}}))
	require.NoError(t, folder.Remember(t.Context(), memories))
	return p
}

// kubernetes/kubernetes#135711: a kubelet does not start for one damaged file.
func TestRecordCutAtAnyByte_135711(t *testing.T) {
	p := written(t, "good")
	whole, err := os.ReadFile(filepath.Join(p.dir, "pod-uid-good"))
	require.NoError(t, err)
	bad := filepath.Join(p.dir, "pod-uid-evil")
	for n := range len(whole) {
		require.NoError(t, os.WriteFile(bad, whole[:n], 0o600))
		folder := p.open()
		problems := folder.Problems()
		require.Len(t, problems, 1, "cut at byte %d", n)
		var corrupt *durable.CorruptError
		require.ErrorAs(t, problems[0], &corrupt)
		require.NoFileExists(t, bad)
		aside := filepath.Join(p.dir, corrupt.Aside)
		kept, err := os.ReadFile(aside)
		require.NoError(t, err)
		require.Equal(t, whole[:n], kept, "people may look at it")
		require.NoError(t, os.Remove(aside))
		require.Len(t, folder.Remembered(), 1, "the others are not concerned")
	}
	require.Equal(t, []string{"http/good"}, p.restored())
	require.Empty(t, p.open().Problems(), "and it is reported once")
}

// sealed is a record with a right checksum, whatever it holds.
func sealed(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "kubeparts/1 sha256:" + hex.EncodeToString(sum[:]) + "\n" + body
}

// What is written as it should be and makes no sense is damaged, too; and what is
// said of it quotes nothing of it.
func TestRecordsThatMakeNoSense(t *testing.T) {
	secret := "aGVsbG8"
	for name, c := range map[string]struct{ body, err string }{
		"no JSON":           {secret, "it is no JSON at byte 1"},
		"a list":            {`["` + secret + `"]`, "its field  is no checkpoint.record"},
		"of a later format": {`{"format":2,"uid":"uid-a","memory":1}`, "its format is 2, not 1"},
		"without a format":  {`{"uid":"uid-a","memory":1}`, "its format is 0, not 1"},
		"of another pod":    {`{"format":1,"uid":"uid-b","memory":1}`, "it is the record of another pod"},
		"empty":             {`{"format":1,"uid":"uid-a"}`, "it holds nothing"},
		"a nameless pod":    {`{"format":1,"uid":"uid-a","source":"http","pod":{"metadata":{"uid":"uid-a"}}}`, "its pod lacks a name"},
		"a pod of no source": {
			`{"format":1,"uid":"uid-a","pod":{"metadata":{"uid":"uid-a","name":"a"}}}`, "its pod lacks a name or a source",
		},
		"a pod with another UID": {
			`{"format":1,"uid":"uid-a","source":"http","pod":{"metadata":{"uid":"uid-b","name":"a"}}}`, "has another UID",
		},
		"a field of another type": {
			`{"format":1,"uid":"uid-a","source":"http","pod":{"spec":{"hostNetwork":"` + secret + `"}}}`, "its field pod.spec.hostNetwork is no bool",
		},
		"a quantity that is none": {
			`{"format":1,"uid":"uid-a","source":"http","pod":{"spec":{"overhead":{"cpu":"` + secret + `"}}}}`, "a value in it can't be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := written(t, "good")
			require.NoError(t, os.WriteFile(filepath.Join(p.dir, "pod-uid-a"), []byte(sealed(c.body)), 0o600))
			problems := p.open().Problems()
			require.Len(t, problems, 1)
			require.ErrorContains(t, problems[0], c.err)
			require.NotContains(t, problems[0].Error(), secret)
			require.Equal(t, []string{"http/good"}, p.restored())
		})
	}
}

// Files of other people are left alone; what a crash left of a write is removed.
func TestStrangersInTheFolder(t *testing.T) {
	p := written(t, "good")
	for _, name := range []string{"README", "podium", ".hidden"} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, name), []byte("x"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, ".tmp-1"), []byte("half"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, "pod-folder"), 0o700))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(p.dir, "pod-zero")))
	require.Empty(t, p.open().Problems())
	require.ElementsMatch(t, []string{"README", "podium", ".hidden", "pod-folder", "pod-zero", "pod-uid-good"}, records(t, p.dir))
	require.Equal(t, []string{"http/good"}, p.restored())
}

// A record that can't be read now is reported and left where it is.
func TestRecordThatCannotBeRead(t *testing.T) {
	p := written(t, "good", "other")
	p.faults = func(op durable.Op, name string) error {
		if op == durable.OpRead && name == "pod-uid-other" {
			return syscall.EIO
		}
		return nil
	}
	problems := p.open().Problems()
	require.Len(t, problems, 1)
	require.ErrorIs(t, problems[0], syscall.EIO)
	p.faults = nil
	require.Equal(t, []string{"http/good", "http/other"}, p.restored())
}

// Nothing here goes by the clock: an agent of the year 2000 reads what one of
// today wrote, and sets aside what is damaged, and the other way round.
func TestClockThatJumps(t *testing.T) {
	p := written(t, "today")
	synctest.Test(t, func(t *testing.T) { // the bubble begins in the year 2000
		old := p.start("http")
		old.says("RESTORE http: today")
		old.sources["http"].Set(pod("today"), pod("past"))
		old.says("ADD http: past")
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "pod-uid-x"), nil, 0o600))
		require.Len(t, p.open().Problems(), 1)
		old.stop()
	})
	require.Equal(t, []string{"http/past", "http/today"}, p.restored())
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "pod-uid-x"), nil, 0o600))
	require.Len(t, p.open().Problems(), 1)
	require.Len(t, records(t, p.dir), 4, "both are there to be looked at")
}

// A folder of very many records, of which each hundredth is damaged. With
// -records=100000 it takes some seconds.
func TestManyRecords(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	require.NoError(t, os.Mkdir(p.dir, 0o700))
	for i := range *manyRecords {
		body := fmt.Sprintf(`{"format":1,"uid":"u%d","source":"http","pod":{"metadata":{"uid":"u%d","name":"p%d"}},"memory":{"UID":"u%d"}}`, i, i, i, i)
		text := sealed(body)
		if i%100 == 99 {
			text = text[:len(text)/2]
		}
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, fmt.Sprintf("pod-u%d", i)), []byte(text), 0o600))
	}
	folder := p.open()
	damaged := *manyRecords / 100
	require.Len(t, folder.Problems(), damaged)
	require.Len(t, folder.Remembered(), *manyRecords-damaged)
	require.Len(t, p.restored(), *manyRecords-damaged)
}

// What is in the environment of a pod may stand in its record, and nowhere else.
func TestErrorsDoNotQuotePods(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	p.faults = func(op durable.Op, _ string) error {
		if op == durable.OpWrite {
			return errors.New("injected")
		}
		return nil
	}
	folder := p.open()
	hidden := pod("a", func(p *v1.Pod) { p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}} })
	err := folder.Checkpoint(t.Context(), []podmanager.Update{{Source: "http", Op: podmanager.OpAdd, Pods: []*v1.Pod{hidden}}})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, strings.Join(records(t, p.dir), " "), "hunter2")
}
