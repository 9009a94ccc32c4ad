package podmanager_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/recordings"
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
	recordings.Replay(t, name, func(t *testing.T, line []byte) recordings.Answer {
		var c C
		require.NoError(t, json.Unmarshal(line, &c))
		a := recordings.Answer{Want: c.want(), Got: c.got(t)}
		if a.Agrees = a.Want == a.Got; a.Agrees {
			return a
		}
		for _, r := range rules {
			if r.applies(c, a.Want.(string), a.Got.(string)) {
				a.Rule = r.name
				break
			}
		}
		return a
	})
}

// text is a value as indented JSON, for comparison and for people.
func text(v any) string {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}
