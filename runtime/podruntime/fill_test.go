package podruntime

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func files(contents map[string]string) payload {
	p := payload{}
	for name, content := range contents {
		p[name] = payloadFile{data: []byte(content), mode: 0o644}
	}
	return p
}

// visible reads what a container sees of a volume.
func visible(t *testing.T, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name()[0] == '.' {
			continue
		}
		at, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		require.NoError(t, filepath.WalkDir(at, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				var content []byte
				content, err = os.ReadFile(path)
				seen[e.Name()+path[len(at):]] = string(content)
			}
			return err
		}))
	}
	return seen
}

func TestFill(t *testing.T) {
	dir := t.TempDir()
	want := map[string]string{"a.conf": "1", "d/b.conf": "2", "d/e/c.conf": "3"}
	require.NoError(t, fill(dir, files(want), -1))
	require.Equal(t, want, visible(t, dir))
	version, err := os.Readlink(filepath.Join(dir, currentName))
	require.NoError(t, err)

	require.NoError(t, fill(dir, files(want), -1))
	again, err := os.Readlink(filepath.Join(dir, currentName))
	require.NoError(t, err)
	require.Equal(t, version, again, "what is there already is left alone")

	want = map[string]string{"a.conf": "1", "d": "a file now"}
	require.NoError(t, fill(dir, files(want), -1))
	require.Equal(t, want, visible(t, dir))
	require.NoDirExists(t, filepath.Join(dir, version), "the old version goes")

	require.NoError(t, fill(dir, payload{}, -1))
	require.Empty(t, visible(t, dir))
}

func TestFillOfPathsThatExcludeEachOther(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, fill(dir, files(map[string]string{"a": "1"}), -1))
	require.Error(t, fill(dir, files(map[string]string{"a": "1", "a/b": "2"}), -1))
	require.Equal(t, map[string]string{"a": "1"}, visible(t, dir), "the last version stays")
}

// What a container, or a crash, did to the folder is mended, and nothing outside
// is touched.
func TestFillMendsTheFolder(t *testing.T) {
	want := map[string]string{"a": "1", "d/b": "2"}
	for name, damage := range map[string]func(t *testing.T, dir, version string){
		"a file was changed": func(t *testing.T, _, version string) {
			require.NoError(t, os.WriteFile(filepath.Join(version, "a"), []byte("9"), 0o644))
		},
		"a file was added": func(t *testing.T, _, version string) {
			require.NoError(t, os.WriteFile(filepath.Join(version, "x"), nil, 0o644))
		},
		"a file was removed":      func(t *testing.T, _, version string) { require.NoError(t, os.Remove(filepath.Join(version, "a"))) },
		"the version was removed": func(t *testing.T, _, version string) { require.NoError(t, os.RemoveAll(version)) },
		"a link was removed":      func(t *testing.T, dir, _ string) { require.NoError(t, os.Remove(filepath.Join(dir, "a"))) },
		"a version was left over": func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "..2026-old"), 0o755))
		},
		"the next link was left over": func(t *testing.T, dir, version string) {
			require.NoError(t, os.Symlink(version, filepath.Join(dir, nextName)))
			require.NoError(t, os.Remove(filepath.Join(dir, currentName)))
		},
		"data leads out": func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Remove(filepath.Join(dir, currentName)))
			require.NoError(t, os.Symlink("../outside", filepath.Join(dir, currentName)))
		},
		"a folder of the version leads out": func(t *testing.T, dir, version string) {
			require.NoError(t, os.RemoveAll(filepath.Join(version, "d")))
			require.NoError(t, os.Symlink(filepath.Join(filepath.Dir(dir), "outside"), filepath.Join(version, "d")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			outer := t.TempDir()
			dir, outside := filepath.Join(outer, "v"), filepath.Join(outer, "outside")
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.Mkdir(outside, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(outside, "b"), []byte("mine"), 0o644))
			require.NoError(t, fill(dir, files(want), -1))
			version, err := filepath.EvalSymlinks(filepath.Join(dir, currentName))
			require.NoError(t, err)

			damage(t, dir, version)
			require.NoError(t, fill(dir, files(want), -1))
			require.Equal(t, want, visible(t, dir))
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 4, "a version, the link to it, two names")
			mine, err := os.ReadFile(filepath.Join(outside, "b"))
			require.NoError(t, err)
			require.Equal(t, "mine", string(mine))
		})
	}
}

// One who follows ..data once sees files of one version only.
func TestReadersSeeOneVersion(t *testing.T) {
	dir := t.TempDir()
	version := func(i byte) payload {
		return payload{"a": {data: []byte{i}, mode: 0o644}, "b": {data: []byte{i}, mode: 0o644}}
	}
	require.NoError(t, fill(dir, version(0), -1))
	var reader sync.WaitGroup
	done := make(chan struct{})
	reader.Go(func() {
		for seen := 0; ; {
			select {
			case <-done:
				return
			default:
			}
			data, err := os.OpenRoot(filepath.Join(dir, currentName))
			if err != nil {
				continue // it was replaced between the link and what it leads to
			}
			a, errA := data.ReadFile("a")
			b, errB := data.ReadFile("b")
			data.Close()
			if errA != nil || errB != nil {
				continue // it was removed meanwhile, as the kubelet does too
			}
			if seen++; string(a) != string(b) {
				t.Errorf("a of version %d with b of version %d", a[0], b[0])
				return
			}
		}
	})
	for i := range 200 {
		require.NoError(t, fill(dir, version(byte(i)), -1))
	}
	close(done)
	reader.Wait()
}

func TestSubPathIsFixedWhenTheContainerStarts(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, fill(dir, files(map[string]string{"a": "1", "d/b": "2"}), -1))
	file, err := pinLocal(dir, "a", "main-0")
	require.NoError(t, err)
	folder, err := pinLocal(dir, "d/", "main-1")
	require.NoError(t, err)
	none, err := pinLocal(dir, "none", "main-2")
	require.NoError(t, err)
	for _, out := range []string{"..", "../x", "/etc"} {
		_, err = pinLocal(dir, out, "main-3")
		require.ErrorIs(t, err, errLeadsOut)
	}

	require.NoError(t, fill(dir, files(map[string]string{"a": "11", "d/b": "22"}), -1))
	for path, want := range map[string]string{file: "1", folder + "/b": "2"} {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "what runs keeps what it started with")
	}
	require.DirExists(t, none)
	require.Equal(t, map[string]string{"a": "11", "d/b": "22"}, visible(t, dir))

	file, err = pinLocal(dir, "a", "main-0")
	require.NoError(t, err)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "11", string(got), "the next instance starts with what is there now")
}

// The folder of a pod's secrets belongs to the pod's user, where containers see
// the host's files: a container that puts a link in the place of its volume makes
// the agent touch nothing of the host.
func TestVolumeThatBecameALinkIsMadeAnew(t *testing.T) {
	outer := t.TempDir()
	dir, outside := filepath.Join(outer, "secrets", "v"), filepath.Join(outer, "outside")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Mkdir(outside, 0o700))
	require.NoError(t, os.Symlink("usr/bin", filepath.Join(outside, "bin")))
	want := map[string]string{"a": "1"}
	require.NoError(t, fill(dir, files(want), -1))

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Symlink(outside, dir))
	require.Error(t, fill(dir, files(want), -1), "a link that comes between the two steps")
	_, err := pinLocal(dir, "a", "main-0")
	require.Error(t, err)
	require.NoError(t, makeOpen(dir))
	require.NoError(t, fill(dir, files(want), -1))
	require.Equal(t, want, visible(t, dir))

	info, err := os.Stat(outside)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1, "neither filled nor tidied")
}
