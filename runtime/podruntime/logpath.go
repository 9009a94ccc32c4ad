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

// removeTraces removes what an instance of a container left on disk: its log,
// with all that was rotated away from it, and its termination message.
func (l layout) removeTraces(ref runtime.PodRef, container string, attempt uint32) error {
	if err := element("container", container); err != nil {
		return err
	}
	dir := l.containerLogDir(ref, container)
	entries, err := readDir(dir)
	if err != nil {
		return err
	}
	paths := []string{filepath.Join(l.messageDir(ref.UID, container), messageName(attempt))}
	for _, e := range entries {
		if log := logName(attempt); e.Name() == log || strings.HasPrefix(e.Name(), log+".") {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
