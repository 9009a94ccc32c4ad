package podmanager_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKubeletParity replays decisions that were recorded from the kubelet
// v1.36.3.
func TestKubeletParity(t *testing.T) {
	t.Run("configmux", func(t *testing.T) { replay(t, "configmux", muxRules) })
	t.Run("staticpod", func(t *testing.T) { replay(t, "staticpod", staticRules) })
}

// recordedCase is one line of a recording. Both answers are comparable texts.
type recordedCase interface {
	want() string
	got(t *testing.T) string
}

// rule is a difference by design: one row of docs/differences.md. It judges by
// the input and both answers.
type rule[C recordedCase] struct {
	name    string
	applies func(c C, want, got string) bool
}

func replay[C recordedCase](t *testing.T, name string, rules []rule[C]) {
	lines := recording(t, name+".jsonl")
	agree, shown, byRule := 0, 0, map[string]int{}
next:
	for _, line := range lines {
		var c C
		require.NoError(t, json.Unmarshal(line, &c))
		want, got := c.want(), c.got(t)
		if want == got {
			agree++
			continue
		}
		for _, r := range rules {
			if r.applies(c, want, got) {
				byRule[r.name]++
				continue next
			}
		}
		t.Fail()
		if shown++; shown <= 10 {
			t.Logf("%s\nwant\n%s\ngot\n%s", line, want, got)
		}
	}
	byDesign := 0
	for _, r := range rules {
		if n := byRule[r.name]; n > 0 {
			t.Logf("differs by design: %s: %d", r.name, n)
			byDesign += n
		}
	}
	figure := fmt.Sprintf("parity %s: %d/%d", name, agree, len(lines))
	if byDesign > 0 {
		figure += fmt.Sprintf(", %d differ by design", byDesign)
	}
	if testing.Verbose() {
		fmt.Println(figure)
	}
}

// recording returns the lines of a recorded file. One that is not there is
// skipped.
func recording(t *testing.T, name string) [][]byte {
	dir := "testdata/kubelet-v1.36.3"
	if corpus := os.Getenv("KUBEPARTS_CORPUS"); corpus != "" {
		dir = corpus
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile(filepath.Join(dir, name+".gz"))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("%s is not in %s", name, dir)
		}
		require.NoError(t, err)
		unzip, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		data, err = io.ReadAll(unzip)
		require.NoError(t, err)
	}
	require.NoError(t, err)
	var lines [][]byte
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		lines = append(lines, bytes.Clone(scan.Bytes()))
	}
	require.NoError(t, scan.Err())
	return lines
}

// text is a value as indented JSON, for comparison and for people.
func text(v any) string {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}
