package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// hidden is what no file, log, event or answer of the agent may hold.
const hidden = "c0rrect-h0rse"

// user is a pod that has a Secret in its environment and as a volume, and shows
// what its ConfigMap says.
func (y yard) user(name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: local
    command: [/bin/sh, -c]
    args:
    - |
      echo $$$$ > "$KUBEPARTS_MOUNT_PIDS/%[1]s"
      test "$PASSWORD" = "$(cat "$KUBEPARTS_MOUNT_SECRET/password")" || exit 1
      while :; do
        cp "$KUBEPARTS_MOUNT_CONFIG/text" "$KUBEPARTS_MOUNT_PIDS/%[1]s.tmp"
        mv "$KUBEPARTS_MOUNT_PIDS/%[1]s.tmp" "$KUBEPARTS_MOUNT_PIDS/%[1]s.text"
        sleep 0.1
      done
    env:
    - {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}
    volumeMounts:
    - {name: pids, mountPath: /pids}
    - {name: config, mountPath: /config}
    - {name: secret, mountPath: /secret}
  volumes:
  - {name: pids, hostPath: {path: %s}}
  - {name: config, configMap: {name: web}}
  - {name: secret, secret: {secretName: db}}
`, name, y.pids)
}

// shows waits until the pod has seen this text of its ConfigMap.
func (y yard) shows(name, text string) {
	y.t.Helper()
	eventually(y.t, func() bool {
		data, _ := os.ReadFile(filepath.Join(y.pids, name+".text"))
		return string(data) == text
	}, "pod %s sees %q", name, text)
}

// putObject writes a manifest into the folder of objects.
func putObject(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name+".yaml")
	require.NoError(t, os.WriteFile(path+".tmp", []byte(content), 0o600))
	require.NoError(t, os.Rename(path+".tmp", path))
}

func configYAML(text string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {text: " + text + "}\n"
}

// A pod waits for its objects, follows them, and outlives the agent with them.
// What its Secret holds is nowhere but where the pod is to find it.
func TestPodsUseConfigMapsAndSecrets(t *testing.T) {
	y := newYard(t)
	dir := t.TempDir()
	putObject(t, dir, "web", configYAML("one"))
	run := func() *running { return y.start("--objects", dir, "--checkpoint", "all") }
	agent := run()
	y.put("a", y.user("a"))
	agent.says("pod/default/a-node", `secret "db" not found`)

	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: " + hidden + "}\n"
	putObject(t, dir, "db", secret)
	a := y.up("a", 0)
	y.shows("a", "one")
	putObject(t, dir, "web", configYAML("two"))
	y.shows("a", "two")

	putObject(t, dir, "db", secret+"more: [")
	agent.says("source/objects", "ManifestRefused", filepath.Join(dir, "db.yaml"), "the last valid version stays in force")
	y.put("b", y.user("b"))
	b := y.up("b", 0)
	y.shows("b", "two")
	keepsToItself(t, y.root, agent)
	eventually(t, func() bool {
		out, _, _ := asked(t, y.root, "status")
		return strings.Contains(out, "objects                FAILING") || strings.Contains(out, "objects       FAILING")
	}, "a refused object is a check that fails")

	agent.signal(syscall.SIGKILL)
	agent.wait()
	putObject(t, dir, "db", secret)
	putObject(t, dir, "web", configYAML("three"))
	agent = run()
	y.shows("a", "three")
	y.shows("b", "three")
	alive(t, a)
	alive(t, b)
	agent.stop()
	keepsToItself(t, y.root, agent)
	require.Empty(t, files(t, y.root, nil), "nothing of the secrets is left, in whatever file system")
}

// keepsToItself looks for the secret in all that the agent wrote and answers.
func keepsToItself(t *testing.T, root string, agent *running) {
	t.Helper()
	require.NotContains(t, agent.stderr.String(), hidden)
	for _, question := range [][]string{{"status", "-o", "json"}, {"explain", "a"}, {"events"}, {"dump"}} {
		if agent.cmd.ProcessState != nil {
			break // it has ended
		}
		out, said, code := asked(t, root, question...)
		require.Equal(t, exitOK, code, said)
		require.NotContains(t, out, hidden, question)
	}
	require.Empty(t, files(t, root, func(path string) bool { return strings.Contains(path, "/secret/") }))
}

// files are those under root that hold the secret, but for some.
func files(t *testing.T, root string, but func(string) bool) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || but != nil && but(path) {
			return nil // what goes while it is looked at holds nothing
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(hidden)) {
			found = append(found, path)
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// Without --objects a static pod refers to none, as in the kubelet.
func TestStaticPodsReferToNothingWithoutObjects(t *testing.T) {
	y := newYard(t)
	agent := y.start()
	y.put("a", y.user("a"))
	agent.says("ManifestRefused", "static pods may not reference secrets")
	agent.stop()
}
