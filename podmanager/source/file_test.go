package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// patience is how long a test waits for what must happen; it says nothing about
// speed.
const patience = 5 * time.Minute

var decoder = manifest.Decoder{NodeName: "n"}

func podYAML(name string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: i}]}\n"
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// names are the pods of a report, without the node's name behind them.
func names(report podmanager.Report) []string {
	list := []string{}
	for _, pod := range report.Pods {
		list = append(list, strings.TrimSuffix(pod.Name, "-n"))
	}
	slices.Sort(list)
	return list
}

func reader(path string) *fileReader {
	return newFileReader(&File{Decoder: decoder}, path)
}

func manifestErrors(err error) []*podmanager.ManifestError {
	var all []*podmanager.ManifestError
	var walk func(error)
	walk = func(err error) {
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				walk(e)
			}
			return
		}
		var bad *podmanager.ManifestError
		if errors.As(err, &bad) {
			all = append(all, bad)
		}
	}
	walk(err)
	return all
}

func TestFolderIsReadOnceAndThenOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	r := reader(dir)

	report := r.read()
	require.NoError(t, report.Err)
	require.Equal(t, podmanager.OpSet, report.Op, "an empty folder is an answer")
	require.Empty(t, report.Pods)

	write(t, filepath.Join(dir, "a.yaml"), podYAML("a"))
	write(t, filepath.Join(dir, "b.json"), `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	first := r.read()
	require.NoError(t, first.Err)
	require.Equal(t, []string{"a", "b"}, names(first))

	report = r.read()
	require.Empty(t, report.Op, "nothing changed, nothing is said")

	require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))
	report = r.read()
	require.Equal(t, []string{"b"}, names(report), "a removed file removes its pod")
	require.Same(t, first.Pods[1], report.Pods[0], "an unchanged file is not parsed again")
}

func TestFolderSkipsWhatIsNoManifest(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".hidden.yaml", "a.yaml~", "#a.yaml#", "a.yaml.swp", "a.yaml.swx", "a.yaml.tmp"} {
		write(t, filepath.Join(dir, name), podYAML("temporary"))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub.yaml"), 0o700))
	write(t, filepath.Join(dir, "sub.yaml", "a.yaml"), podYAML("below"))
	r := reader(dir)
	report := r.read()
	require.NoError(t, report.Err)
	require.Empty(t, report.Pods)
	require.Equal(t, []string{filepath.Join(dir, "sub.yaml") + ": a folder; manifests in it are not read"}, report.Warnings)
	require.Empty(t, r.read().Warnings, "said once")
}

// A FIFO would hang a reader, a device would never end.
func TestFolderRefusesWhatIsNoFileAndReadsTheRest(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, mkfifo(filepath.Join(dir, "fifo.yaml"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero.yaml")))
	require.NoError(t, os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling.yaml")))
	write(t, filepath.Join(dir, "binary.yaml"), "\x7fELF\x00\x01\x02")
	write(t, filepath.Join(dir, "half.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {na")
	huge, err := os.Create(filepath.Join(dir, "huge.yaml"))
	require.NoError(t, err)
	require.NoError(t, huge.Truncate(manifest.MaxBytes))
	require.NoError(t, huge.Close())
	write(t, filepath.Join(dir, "target"), podYAML("linked"))
	require.NoError(t, os.Symlink("target", filepath.Join(dir, "link.yaml")))
	require.NoError(t, os.Remove(filepath.Join(dir, "target"))) // and put it elsewhere
	elsewhere := filepath.Join(t.TempDir(), "target")
	write(t, elsewhere, podYAML("linked"))
	require.NoError(t, os.Remove(filepath.Join(dir, "link.yaml")))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "link.yaml")))

	report := reader(dir).read()
	require.Equal(t, []string{"linked"}, names(report))
	refused := map[string]podmanager.ManifestErrorKind{}
	for _, bad := range manifestErrors(report.Err) {
		refused[filepath.Base(bad.File)] = bad.Kind
	}
	require.Equal(t, map[string]podmanager.ManifestErrorKind{
		"fifo.yaml":     podmanager.ManifestRead,
		"zero.yaml":     podmanager.ManifestRead,
		"loop.yaml":     podmanager.ManifestRead,
		"dangling.yaml": podmanager.ManifestRead,
		"huge.yaml":     podmanager.ManifestRead,
		"binary.yaml":   podmanager.ManifestDecode,
		"half.yaml":     podmanager.ManifestDecode,
	}, refused)
}

// The kernel's log says that it is a regular file, and makes its readers wait. Who
// may not read it, as root in most containers, is refused by the kernel.
func TestFileThatMakesReadersWaitIsRefused(t *testing.T) {
	const path = "/proc/kmsg"
	refusal := errNotRegular
	if f, err := os.Open(path); err != nil {
		refusal = plain(err)
	} else {
		require.NoError(t, f.Close())
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "a.yaml")))
	write(t, filepath.Join(dir, "b.yaml"), podYAML("b"))

	report := reader(dir).read()
	require.Equal(t, []string{"b"}, names(report))
	require.ErrorContains(t, report.Err, "a.yaml: "+refusal.Error())
}

func TestBrokenManifestKeepsItsLastGoodPod(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	write(t, path, podYAML("a"))
	write(t, filepath.Join(dir, "b.yaml"), podYAML("b"))
	r := reader(dir)
	good := r.read()

	for _, broken := range []string{"kind: Pod\n  nonsense", podYAML("Not_A_Name"), ""} {
		write(t, path, broken)
		report := r.read()
		require.Equal(t, good.Pods, report.Pods)
		bad := manifestErrors(report.Err)
		require.Len(t, bad, 1)
		require.Equal(t, path, bad[0].File)
		require.True(t, bad[0].Kept)
		require.ErrorContains(t, report.Err, "last valid version stays in force")
		require.Error(t, r.read().Err, "it stays refused until it is mended")
	}

	write(t, path, podYAML("a2"))
	report := r.read()
	require.NoError(t, report.Err)
	require.Equal(t, []string{"a2", "b"}, names(report))
}

func TestUnreadableFileKeepsItsLastGoodPod(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	write(t, path, podYAML("a"))
	r := reader(dir)
	r.read()
	require.NoError(t, os.Remove(path))
	require.NoError(t, mkfifo(path, 0o600))
	report := r.read()
	require.Equal(t, []string{"a"}, names(report))
	require.True(t, manifestErrors(report.Err)[0].Kept)

	require.NoError(t, os.Remove(path))
	write(t, path, podYAML("a"))
	report = r.read()
	require.NoError(t, report.Err)
	require.Equal(t, []string{"a"}, names(report))
}

func TestMissingFolderIsNoAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pods")
	r := reader(dir)
	report := r.read()
	require.ErrorIs(t, report.Err, ErrMissing)
	require.Empty(t, report.Op)

	require.NoError(t, os.Mkdir(dir, 0o700))
	write(t, filepath.Join(dir, "a.yaml"), podYAML("a"))
	require.Equal(t, []string{"a"}, names(r.read()))

	require.NoError(t, os.Rename(dir, dir+".away"))
	report = r.read()
	require.ErrorIs(t, report.Err, ErrMissing)
	require.Empty(t, report.Op, "what it held last stays")

	require.NoError(t, os.Rename(dir+".away", dir))
	report = r.read()
	require.NoError(t, report.Err)
	require.Empty(t, report.Op, "it came back as it was")
}

func TestMissingFolderMeansEmptyWhenAsked(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), podYAML("a"))
	r := newFileReader(&File{Decoder: decoder, MissingMeansEmpty: true}, dir)
	r.read()
	require.NoError(t, os.RemoveAll(dir))
	report := r.read()
	require.Equal(t, podmanager.OpSet, report.Op)
	require.Empty(t, report.Pods)
	require.ErrorIs(t, report.Err, ErrMissing)
	require.Empty(t, r.read().Op, "said once")
}

func TestSingleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pod.yaml")
	write(t, path, "nonsense")
	r := reader(path)
	report := r.read()
	require.Error(t, report.Err)
	require.Empty(t, report.Op, "a file that never was good is no answer")

	write(t, path, podYAML("a"))
	require.Equal(t, []string{"a"}, names(r.read()))
}

func TestTwoFilesOfOnePod(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), podYAML("same")+"# one")
	write(t, filepath.Join(dir, "b.yaml"), podYAML("same")+"# two")
	r := reader(dir)
	report := r.read()
	require.Len(t, report.Pods, 1)
	require.Len(t, report.Warnings, 1)
	require.Contains(t, report.Warnings[0], "b.yaml: pod default/same-n is in "+filepath.Join(dir, "a.yaml")+" too")
	require.Empty(t, r.read().Warnings, "said once")

	require.NoError(t, os.Remove(filepath.Join(dir, "b.yaml")))
	other := r.read()
	require.Len(t, other.Pods, 1)
	require.NotEqual(t, report.Pods[0].UID, other.Pods[0].UID, "the last in the order of names held")
}

func TestFileOfTheSameSizeAndTimeIsNoticed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	young := time.Now().Add(time.Hour) // for as long as this test may take
	write(t, path, podYAML("aa"))
	require.NoError(t, os.Chtimes(path, young, young))
	r := reader(dir)
	r.read()
	write(t, path, podYAML("bb"))
	require.NoError(t, os.Chtimes(path, young, young))
	require.Equal(t, []string{"bb"}, names(r.read()))
}

// run starts a File and returns its reports that say something.
func run(t *testing.T, f *File) <-chan podmanager.Report {
	t.Helper()
	reports := make(chan podmanager.Report, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- f.Run(ctx, func(r podmanager.Report) {
			if r.Op != "" || r.Err != nil {
				reports <- r
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return reports
}

// await waits for a report of exactly these pods.
func await(t *testing.T, reports <-chan podmanager.Report, want ...string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case r := <-reports:
			if r.Op == podmanager.OpSet && slices.Equal(want, names(r)) {
				return
			}
		case <-late:
			require.FailNow(t, "no such report", "want %v", want)
		}
	}
}

// watchAlone is a period after which no test waits, so that only the watch can
// tell; but a machine that has no watch to give, because others have them all,
// leaves the period alone.
func watchAlone(t *testing.T) time.Duration {
	t.Helper()
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.Logf("no watch: %v", err)
		return 10 * time.Millisecond
	}
	require.NoError(t, watcher.Close())
	return time.Hour
}

func TestWatchNoticesEveryChange(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "pods")
	require.NoError(t, os.Mkdir(dir, 0o700))
	reports := run(t, &File{Path: dir, Decoder: decoder, Period: watchAlone(t)})
	await(t, reports)

	a := filepath.Join(dir, "a.yaml")
	write(t, a, podYAML("a"))
	await(t, reports, "a")

	write(t, filepath.Join(dir, ".a.new"), podYAML("a2"))
	require.NoError(t, os.Rename(filepath.Join(dir, ".a.new"), a), "an editor's atomic save")
	await(t, reports, "a2")

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o700))
	write(t, a, podYAML("a3"))
	await(t, reports, "a3")

	write(t, filepath.Join(dir, "b.yaml"), podYAML("b"))
	await(t, reports, "a3", "b")

	require.NoError(t, os.Rename(dir, dir+".away"))
	require.NoError(t, os.Mkdir(dir, 0o700))
	write(t, filepath.Join(dir, "c.yaml"), podYAML("c"))
	await(t, reports, "c")

	require.NoError(t, os.Remove(filepath.Join(dir, "c.yaml")))
	await(t, reports)
}

func TestWatchNoticesAReplacedSingleFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pod.yaml")
	reports := run(t, &File{Path: path, Decoder: decoder, Period: watchAlone(t)})
	select {
	case r := <-reports:
		require.ErrorIs(t, r.Err, ErrMissing)
	case <-time.After(patience):
		require.FailNow(t, "nothing was said of the missing file")
	}
	write(t, path, podYAML("a"))
	await(t, reports, "a")
	write(t, filepath.Join(dir, "new"), podYAML("b"))
	require.NoError(t, os.Rename(filepath.Join(dir, "new"), path))
	await(t, reports, "b")
}

func TestPeriodIsEnoughWithoutAWatch(t *testing.T) {
	dir := t.TempDir()
	reports := run(t, &File{Path: dir, Decoder: decoder, Period: 10 * time.Millisecond, NoWatch: true})
	await(t, reports)
	write(t, filepath.Join(dir, "a.yaml"), podYAML("a"))
	await(t, reports, "a")
}

// A pod's identity must not depend on how its folder was written.
func TestRelativePathIsMadeAbsolute(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), podYAML("a"))
	t.Chdir(dir)
	want := reader(dir).read().Pods[0].UID
	select {
	case r := <-run(t, &File{Path: "./", Decoder: decoder}):
		require.Equal(t, want, r.Pods[0].UID)
	case <-time.After(patience):
		require.FailNow(t, "nothing was read")
	}
}

func TestFileNeedsAPath(t *testing.T) {
	require.ErrorContains(t, (&File{}).Run(t.Context(), nil), "Path")
}

// BenchmarkFileRead shows what a read costs in which nothing changed.
func BenchmarkFileRead(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			old := time.Now().Add(-time.Hour)
			for i := range n {
				path := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
				if err := errors.Join(os.WriteFile(path, []byte(podYAML(fmt.Sprint("p", i))), 0o600), os.Chtimes(path, old, old)); err != nil {
					b.Fatal(err)
				}
			}
			r := reader(dir)
			if report := r.read(); report.Err != nil || len(report.Pods) != n {
				b.Fatal(report.Err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.read()
			}
		})
	}
}
