package probe

import (
	"testing"

	"github.com/kubeparts/kubeparts/internal/recordings"
)

// TestKubeletParity replays what the kubelet's probers and probe workers did.
// Each file gets one line, and each rule for differences by design
// (docs/differences.md) another. KUBEPARTS_CORPUS names a folder of further
// recordings.
func TestKubeletParity(t *testing.T) {
	for name, judge := range map[string]func(*testing.T, []byte) recordings.Answer{
		"httpprobe":    replayHTTP(t),
		"httprequest":  replayRequest,
		"tcpprobe":     replayTCP(t),
		"execprobe":    replayExec,
		"proberworker": replayWorker,
	} {
		t.Run(name, func(t *testing.T) { recordings.Replay(t, name, judge) })
	}
}
