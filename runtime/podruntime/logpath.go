package podruntime

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubeparts/kubeparts/runtime"
)

// restartsByLogs is the restart count that the logs of a container tell when
// the runtime has forgotten it: one more than the highest number among
// N.log…, zero without any.
func (l layout) restartsByLogs(ref runtime.PodRef, container string) int32 {
	entries, err := os.ReadDir(l.containerLogDir(ref, container))
	if err != nil {
		return 0
	}
	var next int32
	for _, e := range entries {
		digits, _, ok := strings.Cut(e.Name(), ".log")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil || digits[0] < '0' || digits[0] > '9' || n == math.MaxInt32 {
			continue
		}
		next = max(next, int32(n)+1)
	}
	return next
}

// removeLogs removes a log with all that was rotated away from it. Only files
// under the root are touched, wherever the path says the log is.
func (l layout) removeLogs(path string) error {
	rel, err := filepath.Rel(l.logsDir(), path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	entries, err := readDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	base := filepath.Base(path)
	for _, e := range entries {
		if e.Name() == base || strings.HasPrefix(e.Name(), base+".") {
			if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}
