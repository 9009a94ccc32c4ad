package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// manifestServer is a URL source that can be down.
type manifestServer struct {
	*httptest.Server
	manifest atomic.Pointer[string] // nil while it is down
}

func newManifestServer(t *testing.T) *manifestServer {
	s := &manifestServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if m := s.manifest.Load(); m != nil {
			fmt.Fprint(w, *m)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(s.Close)
	return s
}

// says makes these the pods of the source; none at all takes it down.
func (s *manifestServer) says(pods ...string) {
	if len(pods) == 0 {
		s.manifest.Store(nil)
		return
	}
	list := "apiVersion: v1\nkind: PodList\nitems:\n"
	for _, p := range pods {
		list += "- " + strings.ReplaceAll(strings.TrimSpace(p), "\n", "\n  ") + "\n"
	}
	s.manifest.Store(&list)
}

// An agent that was killed is followed by one that can't reach its source.
func TestPodsAreRestoredWhileTheirSourceIsDown(t *testing.T) {
	y := newYard(t)
	server := newManifestServer(t)
	server.says(y.sleeper("a", "1"), y.sleeper("b", "1"), y.sleeper("c", "1"))
	run := func() *running {
		return y.run("--manifest-url", server.URL, "--checkpoint", "all")
	}
	first := run()
	a, b, c := y.up("a", 0), y.up("b", 0), y.up("c", 0)
	first.says("pod/default/a-node", "Started")
	first.signal(syscall.SIGKILL)
	first.wait()
	server.says() // it is down
	require.NoError(t, syscall.Kill(b, syscall.SIGKILL))

	second := run()
	second.says("pod/default/a-node", "Adopted")
	second.says("source/http", "SourceFailed", "502")
	b = y.up("b", b) // the pod is not only left alone: it is looked after
	alive(t, a)
	alive(t, c)

	server.says(y.sleeper("a", "1"), y.sleeper("b", "2")) // and comes back
	second.signal(syscall.SIGKILL)
	second.wait()
	third := run()
	y.gone(c)
	y.up("b", b)
	alive(t, a)
	third.stop()
	y.gone(a)
}

// Pods of a source that is not configured any more don't run for ever.
// (kubernetes/kubernetes#59275)
func TestPodsOfARetiredSourceGo(t *testing.T) {
	y := newYard(t)
	y.put("f", y.sleeper("f", "1"))
	server := newManifestServer(t)
	server.says(y.sleeper("a", "1"))
	first := y.start("--manifest-url", server.URL, "--checkpoint", "all")
	f, a := y.up("f", 0), y.up("a", 0)
	first.says("pod/default/a-node", "Started")
	first.says("pod/default/f-node", "Started")
	first.signal(syscall.SIGKILL)
	first.wait()

	second := y.start("--checkpoint", "all")
	second.says("source/http", "SourceRetired", "is not configured any more")
	y.gone(a)
	alive(t, f)
	second.stop()
}

// By default only what asks for it is written down, with what stands in its
// environment; when each pod began is remembered of all.
func TestOnlyAnnotatedPodsAreWrittenDown(t *testing.T) {
	y := newYard(t)
	secret := func(name, annotation string) string {
		return strings.NewReplacer(
			"labels:", "annotations: {node.kubernetes.io/bootstrap-checkpoint: \""+annotation+"\"}, labels:",
			"    image: local\n", "    image: local\n    env: [{name: PASSWORD, value: hush-"+name+"}]\n",
		).Replace(y.sleeper(name, "1"))
	}
	y.put("asks", secret("asks", "true"))
	y.put("plain", secret("plain", "no"))
	first := y.start("-o", "json")
	y.up("asks", 0)
	y.up("plain", 0)
	first.says("pod/default/asks-node", "Started")
	first.says("pod/default/plain-node", "Started")
	folder := filepath.Join(y.root, "checkpoints")
	eventually(t, func() bool { return len(y.grep(folder, `"phase":"Running"`)) == 2 }, "both are remembered")
	require.Len(t, y.grep(folder, "hush-asks"), 1)
	require.Empty(t, y.grep(folder, "hush-plain"))
	first.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, first.wait())

	second := y.start("-o", "json")
	for _, name := range []string{"asks", "plain"} {
		second.says("pod/default/"+name+"-node", "Adopted")
		y.until("runs", name, isRunning)
	}
	second.stop()
	for name, before := range first.list() {
		after := second.list()[name]
		require.Equal(t, before.Status.StartTime, after.Status.StartTime, name)
	}
}

// grep are the files of a folder that hold a text.
func (y yard) grep(folder, text string) []string {
	y.t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "pod*"))
	require.NoError(y.t, err)
	var found []string
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), text) {
			found = append(found, file)
		}
	}
	return found
}

// Damage is said and stops nobody.
func TestDamagedCheckpointIsSaid(t *testing.T) {
	y := newYard(t)
	y.put("a", y.sleeper("a", "1"))
	folder := filepath.Join(y.root, "checkpoints")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pod-x"), []byte("half a rec"), 0o600))
	agent := y.start()
	agent.says("agent", "StateDamaged", "pod-x", "set aside as pod-x.corrupt-")
	y.up("a", 0)
	agent.stop()
}
