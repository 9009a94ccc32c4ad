package admission_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKubeletParity replays decisions that were recorded from the kubelet
// v1.36.3. KUBEPARTS_CORPUS names a folder with other recordings of that form.
func TestKubeletParity(t *testing.T) {
	t.Run("admission", func(t *testing.T) { replay(t, "admission", judgeAdmission) })
	t.Run("qos", func(t *testing.T) { replay(t, "qos", judgeQOS) })
	t.Run("preemption", func(t *testing.T) { replay(t, "preemption", judgePreemption) })
}

// finding is what came of one case: got equals want, or a named rule says why
// not, or they are shown.
type finding struct {
	agrees    bool
	rule      string
	want, got string
}

func compare(want, got any) finding {
	w, g := asJSON(want), asJSON(got)
	return finding{agrees: w == g, want: w, got: g}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func replay(t *testing.T, name string, judge func(t *testing.T, line []byte) finding) {
	lines := openRecording(t, name)
	total, agree, shown := 0, 0, 0
	rules := map[string]int{}
	for lines.Scan() {
		total++
		switch f := judge(t, lines.Bytes()); {
		case f.agrees:
			agree++
		case f.rule != "":
			rules[f.rule]++
		case shown < 10:
			shown++
			t.Errorf("%s\nwant %s\ngot  %s", lines.Text(), f.want, f.got)
		default:
			t.Fail()
		}
	}
	require.NoError(t, lines.Err())
	differ := 0
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		fmt.Printf("difference by design, %s: %d\n", rule, rules[rule])
		differ += rules[rule]
	}
	if differ > 0 {
		fmt.Printf("parity %s: %d/%d, %d differ by design\n", name, agree, total, differ)
		return
	}
	fmt.Printf("parity %s: %d/%d\n", name, agree, total)
}

func openRecording(t *testing.T, name string) *bufio.Scanner {
	t.Helper()
	dir := os.Getenv("KUBEPARTS_CORPUS")
	if dir == "" {
		dir = filepath.Join("testdata", "kubelet-v1.36.3")
	}
	var r io.Reader
	f, err := os.Open(filepath.Join(dir, name+".jsonl"))
	r = f
	if errors.Is(err, os.ErrNotExist) {
		if f, err = os.Open(filepath.Join(dir, name+".jsonl.gz")); errors.Is(err, os.ErrNotExist) {
			t.Skipf("parity %s: no such recording in %s", name, dir)
		}
		require.NoError(t, err)
		zipped, err := gzip.NewReader(f)
		require.NoError(t, err)
		r = zipped
	}
	t.Cleanup(func() { f.Close() })
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<26)
	return lines
}

// recordedFailure is one entry of a recording's failures.
type recordedFailure struct {
	Kind      string `json:"kind"`
	Resource  string `json:"resource,omitempty"`
	Requested int64  `json:"requested,omitempty"`
	Used      int64  `json:"used,omitempty"`
	Capacity  int64  `json:"capacity,omitempty"`
	Name      string `json:"name,omitempty"`
	Desc      string `json:"desc,omitempty"`
}

// recordedAnswer is the kubelet's answer to one pod.
type recordedAnswer struct {
	Admit    bool              `json:"admit"`
	Reason   string            `json:"reason"`
	Message  string            `json:"message"`
	Failures []recordedFailure `json:"failures,omitempty"`
}

func decode(t *testing.T, line []byte, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(line, into))
}

func describe(message string) string {
	_, desc, _ := strings.Cut(message, "failed: ")
	return desc
}
