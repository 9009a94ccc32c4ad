package admission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/recordings"
)

// TestKubeletParity replays decisions that were recorded from the kubelet
// v1.36.3. KUBEPARTS_CORPUS names a folder with other recordings of that form.
func TestKubeletParity(t *testing.T) {
	t.Run("admission", func(t *testing.T) { recordings.Replay(t, "admission", judgeAdmission) })
	t.Run("qos", func(t *testing.T) { recordings.Replay(t, "qos", judgeQOS) })
	t.Run("preemption", func(t *testing.T) { recordings.Replay(t, "preemption", judgePreemption) })
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
