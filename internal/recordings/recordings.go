// Package recordings replays decisions that were recorded from the kubelet
// v1.36.3, for the tests called TestKubeletParity.
//
// A recording is a file of JSON lines, plain or compressed, in the folder
// testdata/kubelet-v1.36.3 of the package under test. The environment variable
// KUBEPARTS_CORPUS names a folder whose files take their place.
package recordings

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Answer is what came of one case: it agrees with the kubelet, or differs by
// design, by a rule that has its row in docs/differences.md, or is wrong.
type Answer struct {
	Agrees bool
	Rule   string
	// Want and Got are shown of a case that is wrong, texts as they are and
	// everything else as JSON.
	Want, Got any
}

// Compare compares two answers by their JSON.
func Compare(want, got any) Answer {
	return Answer{Agrees: JSON(want) == JSON(got), Want: want, Got: got}
}

// shown is how many wrong cases are shown.
const shown = 10

// Replay judges every case of a recording, fails for each that is wrong, and
// prints how many agree. A recording that is not there is skipped.
func Replay(t *testing.T, name string, judge func(t *testing.T, line []byte) Answer) {
	t.Helper()
	total, agree, wrong := 0, 0, 0
	rules := map[string]int{}
	for line := range Lines(t, name) {
		total++
		switch a := judge(t, line); {
		case a.Agrees:
			agree++
		case a.Rule != "":
			rules[a.Rule]++
		default:
			if wrong++; wrong <= shown {
				t.Errorf("%s\nwant %s\ngot  %s", line, text(a.Want), text(a.Got))
			}
		}
	}
	if wrong > shown {
		t.Errorf("and %d more", wrong-shown)
	}
	if !testing.Verbose() {
		return
	}
	differ := 0
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		fmt.Printf("rule %s: %d\n", rule, rules[rule])
		differ += rules[rule]
	}
	figure := fmt.Sprintf("parity %s: %d/%d", name, agree, total)
	if differ > 0 {
		figure += fmt.Sprintf(", %d differ by design", differ)
	}
	fmt.Println(figure)
}

// Lines yields the cases of a recording. A line is valid until the next.
func Lines(t *testing.T, name string) iter.Seq[[]byte] {
	t.Helper()
	dir := cmp.Or(os.Getenv("KUBEPARTS_CORPUS"), filepath.Join("testdata", "kubelet-v1.36.3"))
	path := filepath.Join(dir, name+".jsonl")
	file, err := os.Open(path)
	zipped := errors.Is(err, fs.ErrNotExist)
	if zipped {
		file, err = os.Open(path + ".gz")
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("parity %s: no recording in %s", name, dir)
	}
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	var in io.Reader = file
	if zipped {
		in, err = gzip.NewReader(file)
		require.NoError(t, err)
	}
	return func(yield func([]byte) bool) {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			if !yield(lines.Bytes()) {
				return
			}
		}
		require.NoError(t, lines.Err())
	}
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return JSON(v)
}

// JSON is a value as text.
func JSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
