package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked runs a sub-command against the agent of a root. It needs no process of its
// own, which would cost more than the answer.
func asked(t *testing.T, root string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, said bytes.Buffer
	code = ask(args[0], append([]string{"--root", root}, args[1:]...), &out, &said)
	return out.String(), said.String(), code
}

func TestAskingARunningAgent(t *testing.T) {
	y := newYard(t)
	// A socket's path may have 108 bytes; a root may have more.
	y.root = filepath.Join(filepath.Dir(y.root), strings.Repeat("long", 40))
	y.put("a", y.sleeper("a", "1"))
	y.put("talk", strings.Replace(y.sleeper("talk", "1"), "echo $$$$", "echo hello; echo $$$$", 1))
	y.put("done", strings.Replace(y.sleeper("done", "1"), "exec sleep 100000", "exit 3", 1)+"  restartPolicy: Never\n")
	y.put("gone", "apiVersion: v1\nkind: Pod\nmetadata: {name: gone}\nspec: {containers: [{name: main, image: local}]}\n")
	_, said, code := asked(t, y.root, "status")
	require.Equal(t, exitFault, code)
	require.Contains(t, said, "there is no such folder")
	_, said, _ = asked(t, filepath.Join(y.manifests, "a.yaml"), "status")
	require.Contains(t, said, "there is no such folder")
	require.NoError(t, os.MkdirAll(y.root, 0o700))
	_, said, _ = asked(t, y.root, "status")
	require.Contains(t, said, "no agent runs on "+y.root+"; if one runs on another folder, name it with --root")

	agent := y.start()
	y.up("a", 0)
	y.up("talk", 0)
	agent.says("talk-node/main", "Started")
	agent.says("a-node/main", "Started")

	eventually(t, func() bool {
		out, _, code := asked(t, y.root, "status")
		return code == exitOK && strings.Count(out, "1/1     Running") == 2 && strings.Contains(out, "source file   ok")
	}, "status shows two running pods and the source")

	out, _, code := asked(t, y.root, "status", "-o", "json")
	require.Equal(t, exitOK, code)
	var status answer
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.Len(t, status.Pods, 4)

	out, _, code = asked(t, y.root, "explain", "gone")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "It was rejected, for good")
	require.Contains(t, out, "spec.containers[0].command")

	_, said, code = asked(t, y.root, "explain", "nobody")
	require.Equal(t, exitFault, code)
	require.Contains(t, said, "no pod is called nobody")

	_, said, code = asked(t, y.root, "explain", "a", "-o", "json")
	require.Equal(t, exitOK, code, said)

	out, _, code = asked(t, y.root, "events", "default/a-node")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "Started")
	require.NotContains(t, out, "talk-node")

	eventually(t, func() bool { // it is written down by another process
		out, _, code := asked(t, y.root, "logs", "--tail", "1", "talk", "main")
		return code == exitOK && out == "hello\n"
	}, "the last line of a log")

	_, said, code = asked(t, y.root, "logs", "gone")
	require.Equal(t, exitFault, code)
	require.Contains(t, said, "pod gone-node has no containers")

	out, said, code = asked(t, y.root, "exec", "a", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 4")
	require.Equal(t, 4, code)
	require.Equal(t, "out\n", out)
	require.Equal(t, "err\n", said)

	_, said, code = asked(t, y.root, "exec", "a", "--", "no-such-program")
	require.Equal(t, exitFault, code)
	require.Equal(t, "nodeagent: container main of pod default/a-node: \"no-such-program\": executable file not found in $PATH\n", said)

	eventually(t, func() bool {
		_, said, code = asked(t, y.root, "exec", "done", "--", "true")
		return code == exitFault && strings.HasSuffix(said, "container main of pod default/done-node does not run: it exited with 3\n")
	}, "exec says of what has ended that it has")

	out, _, code = asked(t, y.root, "dump")
	require.Equal(t, exitOK, code)
	require.True(t, json.Valid([]byte(out)))
	require.Contains(t, out, `"eviction"`)
	require.Contains(t, out, "memory.available")

	agent.signal(syscall.SIGUSR1)
	agent.says("was written to", "dump-")
	dumps, err := filepath.Glob(filepath.Join(y.root, "dump-*.json"))
	require.NoError(t, err)
	require.Len(t, dumps, 1)
	data, err := os.ReadFile(dumps[0])
	require.NoError(t, err)
	require.True(t, json.Valid(data))

	for _, args := range [][]string{{"status", "x"}, {"explain"}, {"logs"}, {"exec", "a"}, {"exec", "--", "ls"}, {"dump", "x"}, {"status", "-o", "yaml"}, {"dump", "-o", "table"}} {
		_, said, code := asked(t, y.root, args...)
		require.Equal(t, exitUsage, code, args)
		require.NotRegexp(t, "^usage", said, "what is wrong comes first")
	}

	require.NoError(t, os.Remove(filepath.Join(y.manifests, "talk.yaml")))
	agent.says("talk-node/main", "Killing")
	eventually(t, func() bool {
		_, said, _ := asked(t, y.root, "explain", "talk")
		return strings.Contains(said, "no pod is called talk")
	}, "the pod goes")
	out, said, code = asked(t, y.root, "events", "talk")
	require.Equal(t, exitOK, code, said)
	require.Contains(t, out, "Killing", "its end is what people ask about")
	require.NotContains(t, out, "a-node")
	_, said, code = asked(t, y.root, "events", "nobody")
	require.Equal(t, exitFault, code)
	require.Contains(t, said, "no pod is called nobody")
	agent.stop()
}

func TestFollowingALog(t *testing.T) {
	y := newYard(t)
	y.put("count", strings.Replace(y.sleeper("count", "1"), "exec sleep 100000",
		`i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo "line $i"; sleep 0.05; done`, 1))
	agent := y.start()
	eventually(t, func() bool { // the event of its start comes before its status
		_, _, code := asked(t, y.root, "logs", "count")
		return code == exitOK
	}, "the container is known")
	follower := start(t, "logs", "--root", y.root, "-f", "count")
	require.Equal(t, exitOK, follower.wait())
	require.Contains(t, follower.stdout.String(), "line 20\n", "it ends with its container")
	agent.stop()
}

// Who connects and says nothing, or half of it, neither takes all descriptors of
// the agent nor keeps others from asking for long.
func TestAskersThatSayNothing(t *testing.T) {
	y := newYard(t)
	y.put("a", y.sleeper("a", "1"))
	agent := y.start()
	y.up("a", 0)
	halves := []string{
		"",
		"GET /status HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\n{",
		"GET /logs?pod=a HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\n{",
		"POST /exec?pod=a HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\n{",
		"POST /exec?pod=a HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\n{\"Command\":[\"true\"]}",
	}
	agent.says("a-node/main", "Started")
	eventually(t, func() bool { // it has opened what it needs
		out, _, code := asked(t, y.root, "status")
		return code == exitOK && strings.Contains(out, "1/1     Running")
	}, "the pod runs")
	before := openSockets(t, agent.cmd.Process.Pid)
	for i := range askLimit * 5 / 2 {
		conn, err := dialAgent(y.root)
		require.NoError(t, err)
		defer conn.Close()
		if i >= askLimit {
			continue // these wait for a place
		}
		_, err = io.WriteString(conn, halves[i%len(halves)])
		require.NoError(t, err)
	}
	// Those of which a command runs meanwhile have one to its keeper, too.
	require.LessOrEqual(t, openSockets(t, agent.cmd.Process.Pid), before+askLimit*2)
	eventually(t, func() bool {
		_, _, code := asked(t, y.root, "status")
		return code == exitOK
	}, "an answer")
	agent.stop()
}

// openSockets counts the sockets that a process has.
func openSockets(t *testing.T, pid int) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	open, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range open {
		if to, _ := os.Readlink(filepath.Join(dir, f.Name())); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
