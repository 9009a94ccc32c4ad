package checkpoint_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

func TestPolicy(t *testing.T) {
	mirror := pod("m", func(p *v1.Pod) {
		p.Annotations = map[string]string{podmanager.AnnotationMirror: "hash", checkpoint.Annotation: "true"}
	})
	for policy, want := range map[checkpoint.Policy][4]bool{
		"":                   {true, false, false, false},
		checkpoint.Annotated: {true, false, false, false},
		checkpoint.All:       {true, true, true, false},
		checkpoint.None:      {false, false, false, false},
	} {
		require.NoError(t, policy.Validate())
		for i, p := range []*v1.Pod{pod("a", annotated("true")), pod("b", annotated("True")), pod("c"), mirror} {
			require.Equal(t, want[i], policy.Keeps(p), "%q %s", policy, p.Name)
		}
	}
	require.ErrorContains(t, checkpoint.Policy("some").Validate(), `"some": give annotated, all or none`)
	_, err := checkpoint.Open(checkpoint.Config{Dir: t.TempDir(), Policy: "some"})
	require.Error(t, err)
}

// An agent whose sources are silent has the pods of the one before, and their first
// words confirm, change or remove them.
func TestPodsAreRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, checkpoint.All)
		first := p.start("http", "file")
		first.sources["http"].Set(pod("a"), pod("b"), pod("c"))
		first.sources["file"].Set(pod("f"))
		first.says("ADD http: a b c", "ADD file: f")
		first.sources["http"].Update(pod("b", image("v2")))
		first.sources["file"].Remove(pod("f"))
		first.says("UPDATE http: b", "REMOVE file: f")
		first.stop()

		second := p.start("http", "file")
		second.says("RESTORE http: a b c")
		require.False(t, second.Seen("http"), "a checkpoint is not its word")
		second.sources["http"].Set(pod("b", image("v2")), pod("c", image("v2")), pod("d"))
		second.says("REMOVE http: a", "ADD http: d", "UPDATE http: c")
		require.True(t, second.Seen("http"))
		second.stop()
		require.Equal(t, []string{"http/b", "http/c", "http/d"}, p.restored())
	})
}

func TestAnnotationDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, checkpoint.Annotated)
		a := p.start("api")
		a.sources["api"].Set(pod("plain"), pod("asks", annotated("true")), pod("off", annotated("yes")))
		a.says("ADD api: plain asks off")
		require.Equal(t, []string{"api/asks"}, p.restored())
		a.sources["api"].Update(pod("asks"), pod("plain", annotated("true")))
		a.says("UPDATE api: asks plain")
		require.Equal(t, []string{"api/plain"}, p.restored())
		a.stop()

		p.policy = checkpoint.None
		b := p.start("api")
		b.sources["api"].Set()
		b.says("ADD api:")
		p.policy = checkpoint.All
		require.Empty(t, p.restored(), "what the policy does not keep went from the disk")
	})
}

// Nobody hears of a pod that is not on disk, or of the end of one that is.
func TestDiskIsAheadOfTheLoop(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	folder := p.open()
	ctx := t.Context()
	a, b := pod("a"), pod("b")
	require.NoError(t, folder.Checkpoint(ctx, []podmanager.Update{{Source: "http", Op: podmanager.OpAdd, Pods: []*v1.Pod{a, b}}}))
	require.Equal(t, []string{"http/a", "http/b"}, p.restored())
	require.NoError(t, folder.Checkpoint(ctx, []podmanager.Update{{Source: "http", Op: podmanager.OpRemove, Pods: []*v1.Pod{a}}}))
	require.Equal(t, []string{"http/b"}, p.restored())
	require.NoError(t, folder.Checkpoint(ctx, []podmanager.Update{
		{Source: "file", Op: podmanager.OpAdd, Pods: []*v1.Pod{b}}, // another source has it now
		{Source: "http", Op: podmanager.OpRemove, Pods: []*v1.Pod{b}},
	}))
	require.Equal(t, []string{"file/b"}, p.restored())
}

// What is remembered stays without the pod, and the pod without what is remembered.
func TestPodAndMemoryAreIndependent(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	folder := p.open()
	a := pod("a")
	add := []podmanager.Update{{Source: "http", Op: podmanager.OpAdd, Pods: []*v1.Pod{a}}}
	remove := []podmanager.Update{{Source: "http", Op: podmanager.OpRemove, Pods: []*v1.Pod{a}}}
	memory := checkpoint.Memory{UID: a.UID, Data: []byte(`{"Admitted":true}`)}

	require.NoError(t, folder.Checkpoint(t.Context(), add))
	require.NoError(t, folder.Remember(t.Context(), []checkpoint.Memory{memory}))
	require.Equal(t, []string{"http/a"}, p.restored())
	require.Equal(t, []checkpoint.Memory{memory}, p.open().Remembered())

	require.NoError(t, folder.Remember(t.Context(), nil, a.UID, "never was"))
	require.Equal(t, []string{"http/a"}, p.restored())
	require.Empty(t, p.open().Remembered())

	require.NoError(t, folder.Remember(t.Context(), []checkpoint.Memory{memory}))
	require.NoError(t, folder.Checkpoint(t.Context(), remove))
	require.Empty(t, p.restored())
	require.Equal(t, []checkpoint.Memory{memory}, p.open().Remembered())

	require.NoError(t, folder.Remember(t.Context(), nil, a.UID))
	require.Empty(t, records(t, p.dir), "nothing is left behind")
}

// A job that the source has as finished does not run again, also without a Store; any
// other status is not worth a write.
func TestEndInTheSourceIsWritten(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	folder := p.open()
	phase := func(phase v1.PodPhase) *v1.Pod { return pod("job", func(p *v1.Pod) { p.Status.Phase = phase }) }
	say := func(op podmanager.Op, pod *v1.Pod) {
		require.NoError(t, folder.Checkpoint(t.Context(), []podmanager.Update{{Source: "api", Op: op, Pods: []*v1.Pod{pod}}}))
	}
	say(podmanager.OpAdd, phase(v1.PodPending))
	before := folder.Syncs()
	say(podmanager.OpReconcile, phase(v1.PodRunning))
	require.Equal(t, before, folder.Syncs())
	say(podmanager.OpReconcile, phase(v1.PodSucceeded))
	after := folder.Syncs()
	require.Greater(t, after, before)
	say(podmanager.OpReconcile, phase(v1.PodSucceeded))
	require.Equal(t, after, folder.Syncs())
	data, err := os.ReadFile(filepath.Join(p.dir, "pod-uid-job"))
	require.NoError(t, err)
	require.Contains(t, string(data), `"phase":"Succeeded"`)
}

// records are the names of the files in a folder.
func records(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A list that comes before anybody took the restored pods replaces them; those that
// it lacks are in no update, and still they must not come again.
func TestListThatOvertakesTheRestoredPods(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	folder := p.open()
	require.NoError(t, folder.Checkpoint(t.Context(), []podmanager.Update{
		{Source: "http", Op: podmanager.OpAdd, Pods: []*v1.Pod{pod("old"), pod("kept")}},
	}))
	folder = p.open()
	source := podmanagertest.NewSource()
	source.Set(pod("kept"), pod("new"))
	source.End(nil)
	sources := folder.Sources(map[string]podmanager.PodSource{"http": source})
	require.NoError(t, sources["http"].Run(t.Context(), func(podmanager.Report) {}))
	require.NoError(t, folder.Checkpoint(t.Context(), []podmanager.Update{
		{Source: "http", Op: podmanager.OpAdd, Pods: []*v1.Pod{pod("kept"), pod("new")}},
	}))
	require.Equal(t, []string{"http/kept", "http/new"}, p.restored())
}

// The kubelet of 1.9 kept running whatever it had once written down.
func TestSourceThatIsNotConfiguredAnyMore_59275(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, checkpoint.All)
		first := p.start("http", "file")
		first.sources["http"].Set(pod("a"), pod("b"))
		first.sources["file"].Set(pod("f"))
		first.says("ADD http: a b", "ADD file: f")
		first.stop()

		second := p.start("file", "api")
		second.says("RESTORE file: f", "RESTORE http: a b",
			"problem of http: source http is not configured any more; its 2 pods go once all other sources have said what they want")
		second.sources["file"].Set(pod("f"))
		second.says("ADD file:")
		require.Equal(t, []string{"file/f", "http/a", "http/b"}, p.restored(), "api may have taken them over")
		second.sources["api"].Set()
		second.says("ADD api:", "REMOVE http: a b", "ADD http:")
		require.True(t, second.SeenAll())
		require.Equal(t, []string{"file/f"}, p.restored())
		second.stop()

		third := p.start() // without a source at all they go at once
		synctest.Wait()
		require.True(t, third.SeenAll())
		require.Empty(t, records(t, p.dir))
	})
}

// A disk without room costs the checkpoints and nothing else; once there is room,
// what is newest is written.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, checkpoint.All)
		var full atomic.Bool
		p.faults = func(op durable.Op, _ string) error {
			if full.Load() && op == durable.OpWrite {
				return syscall.ENOSPC
			}
			return nil
		}
		a := p.start("http")
		status, ok := a.Checkpoints()
		require.True(t, ok)
		require.NoError(t, status.Err)
		full.Store(true)
		a.sources["http"].Set(pod("a"), pod("b"))
		a.says("problem of : checkpoint: record pod-uid-a: no space left on device", "ADD http: a b")
		a.sources["http"].Update(pod("b", image("v2")))
		a.sources["http"].Remove(pod("a"))
		a.says("UPDATE http: b", "REMOVE http: a")
		status, _ = a.Checkpoints()
		require.ErrorIs(t, status.Err, syscall.ENOSPC)
		require.False(t, status.Since.IsZero())
		require.Error(t, a.folder.Remember(t.Context(), []checkpoint.Memory{{UID: "uid-b", Data: []byte("1")}}))
		require.Empty(t, records(t, p.dir))

		a.sources["http"].Remove(pod("b"))
		a.sources["http"].Add(pod("b"))
		synctest.Wait()
		full.Store(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		status, _ = a.Checkpoints()
		require.NoError(t, status.Err)
		require.Zero(t, status.Since)
		require.Equal(t, []string{"http/b"}, p.restored())
		require.Len(t, p.open().Remembered(), 1, "one call writes what any other could not")
	})
}

// What goes needs no room: it goes, and makes some.
func TestRemovalFromAFullDisk(t *testing.T) {
	p := written(t, "old")
	p.faults = func(op durable.Op, _ string) error {
		if op == durable.OpWrite {
			return syscall.ENOSPC
		}
		return nil
	}
	folder := p.open()
	old := pod("old")
	require.NoError(t, folder.Remember(t.Context(), nil, "never was"))
	require.Error(t, folder.Remember(t.Context(), nil, old.UID), "the pod is to be written without it")
	require.ErrorIs(t, folder.Checkpoint(t.Context(), []podmanager.Update{
		{Source: "http", Op: podmanager.OpRemove, Pods: []*v1.Pod{old}},
		{Source: "http", Op: podmanager.OpAdd, Pods: []*v1.Pod{pod("new")}},
	}), syscall.ENOSPC)
	require.Empty(t, p.restored())
}

// A record that can't be written harms no other.
func TestRecordThatIsTooLarge(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	folder := p.open()
	large := pod("large", image(strings.Repeat("x", durable.MaxRecord)))
	update := []podmanager.Update{{Source: "http", Op: podmanager.OpAdd, Pods: []*v1.Pod{pod("a"), large, pod("b")}}}
	require.ErrorContains(t, folder.Checkpoint(t.Context(), update), `record of pod "uid-large": `)
	require.Equal(t, []string{"http/a", "http/b"}, p.restored())
	require.NoError(t, folder.Checkpoint(t.Context(), nil), "it is not tried for ever")
}

func TestRecordsAreForTheirOwnerAndHoldNoFieldsOfManagers(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	folder := p.open()
	managed := pod("a", func(p *v1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}} })
	require.NoError(t, folder.Checkpoint(t.Context(), []podmanager.Update{{Source: "api", Op: podmanager.OpAdd, Pods: []*v1.Pod{managed}}}))
	require.NotNil(t, managed.ManagedFields, "the pod is not ours to change")
	for path, want := range map[string]fs.FileMode{p.dir: 0o700, filepath.Join(p.dir, "pod-uid-a"): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), path)
	}
	data, err := os.ReadFile(filepath.Join(p.dir, "pod-uid-a"))
	require.NoError(t, err)
	require.NotContains(t, string(data), "kubectl")
}

// A folder that can't be used is an error, and no panic.
func TestFolderThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := checkpoint.Open(checkpoint.Config{Dir: file})
	require.ErrorContains(t, err, "checkpoints: ")
	require.True(t, errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist), err)
}

// A source with checkpoints before it keeps the rules of sources.
func TestSourcesKeepTheRules(t *testing.T) {
	podmanagertest.TestSource(t, podmanagertest.SourceSuite{Open: func() (podmanagertest.World, error) {
		folder := newPlace(t, checkpoint.All).open()
		inner := podmanagertest.NewSource()
		inner.Set()
		sources := folder.Sources(map[string]podmanager.PodSource{"http": inner})
		return world{inner, sources["http"]}, nil
	}})
}

type world struct {
	inner  *podmanagertest.Source
	source podmanager.PodSource
}

func (w world) Source() podmanager.PodSource { return w.source }
func (w world) Write(pods []*v1.Pod) error   { w.inner.Set(pods...); return nil }
func (w world) Break() error                 { w.inner.Fail(errors.New("broken")); return nil }
func (w world) Mend() error                  { w.inner.Fail(nil); return nil }
