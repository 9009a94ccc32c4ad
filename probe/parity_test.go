package probe

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKubeletParity replays what the kubelet's probers and probe workers did.
// Each file gets one line, and each rule for differences by design
// (docs/differences.md) another. KUBEPARTS_CORPUS names a folder of further
// recordings.
func TestKubeletParity(t *testing.T) {
	for name, judge := range map[string]judgeFunc{
		"httpprobe":    replayHTTP(t),
		"httprequest":  replayRequest,
		"tcpprobe":     replayTCP(t),
		"execprobe":    replayExec,
		"proberworker": replayWorker,
	} {
		t.Run(name, func(t *testing.T) { replay(t, name, judge) })
	}
}

// judgeFunc replays one line: got and want agree, or a rule says why they differ,
// or neither.
type judgeFunc func(t *testing.T, line []byte) outcome

type outcome struct {
	id, rule  string
	agrees    bool
	got, want any
}

func replay(t *testing.T, name string, judge judgeFunc) {
	lines, err := recording(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("parity %s: no recording", name)
	}
	require.NoError(t, err)
	agree := 0
	rules := map[string]int{}
	var failed []outcome
	for _, line := range lines {
		switch o := judge(t, line); {
		case o.agrees:
			agree++
		case o.rule != "":
			rules[o.rule]++
		default:
			failed = append(failed, o)
		}
	}
	designed := 0
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		fmt.Printf("rule %s: %d\n", rule, rules[rule])
		designed += rules[rule]
	}
	if designed > 0 {
		fmt.Printf("parity %s: %d/%d, %d differ by design\n", name, agree, len(lines), designed)
	} else {
		fmt.Printf("parity %s: %d/%d\n", name, agree, len(lines))
	}
	for _, o := range failed[:min(len(failed), 10)] {
		t.Errorf("%s\nwant %s\ngot  %s", o.id, asJSON(o.want), asJSON(o.got))
	}
	if len(failed) > 10 {
		t.Errorf("and %d more", len(failed)-10)
	}
}

// recording reads a recording, plain or compressed.
func recording(name string) (lines [][]byte, err error) {
	dir := cmp.Or(os.Getenv("KUBEPARTS_CORPUS"), filepath.Join("testdata", "kubelet-v1.36.3"))
	path := filepath.Join(dir, name+".jsonl")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile(path + ".gz")
	}
	if err != nil {
		return nil, err
	}
	var in io.Reader = bytes.NewReader(data)
	if zipped, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		in = zipped
	}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		lines = append(lines, bytes.Clone(scanner.Bytes()))
	}
	return lines, scanner.Err()
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
