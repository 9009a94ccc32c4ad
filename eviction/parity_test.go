package eviction_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/internal/recordings"
)

// TestKubeletParity replays decisions that were recorded from the kubelet's
// eviction manager. KUBEPARTS_CORPUS names a folder of further recordings.
func TestKubeletParity(t *testing.T) {
	t.Run("thresholds", func(t *testing.T) { replay(t, "thresholds", thresholdsCase.answer) })
	t.Run("eviction", func(t *testing.T) { replay(t, "eviction", evictionCase.answer) })
	t.Run("eviction-admit", func(t *testing.T) { replay(t, "eviction-admit", admitCase.answer) })
}

// replay replays a file whose cases answer for themselves.
func replay[C any](t *testing.T, name string, answer func(C) recordings.Answer) {
	recordings.Replay(t, name, func(t *testing.T, line []byte) recordings.Answer {
		var c C
		require.NoError(t, json.Unmarshal(line, &c))
		return answer(c)
	})
}

// recordedSettings are the configuration as the recordings spell it.
type recordedSettings struct {
	Hard    map[string]string `json:"eviction_hard"`
	Soft    map[string]string `json:"eviction_soft"`
	Grace   map[string]string `json:"eviction_soft_grace_period"`
	Reclaim map[string]string `json:"eviction_minimum_reclaim"`
	Enforce []string          `json:"enforce_node_allocatable"`

	Transition           int64 `json:"pressure_transition_period_seconds"`
	MaxGrace             int64 `json:"max_pod_grace_period_seconds"`
	DedicatedImageFs     bool  `json:"dedicated_image_fs"`
	DedicatedContainerFs bool  `json:"dedicated_container_fs"`
	LocalStorage         bool  `json:"local_storage_capacity_isolation"`
	EvictedStay          bool  `json:"evicted_stay"`
}

func (s recordedSettings) settings() eviction.Settings {
	hard := s.Hard
	if hard == nil {
		hard = map[string]string{}
	}
	return eviction.Settings{
		Hard: hard, Soft: s.Soft, SoftGracePeriod: s.Grace, MinimumReclaim: s.Reclaim, EnforceNodeAllocatable: s.Enforce,
	}
}

func (s recordedSettings) layout() eviction.Layout {
	return eviction.Layout{DedicatedImageFs: s.DedicatedImageFs, DedicatedContainerFs: s.DedicatedContainerFs}
}

// admitCase is one line of eviction-admit.jsonl.
type admitCase struct {
	Conditions []v1.NodeConditionType
	Pod        *v1.Pod
	Want       struct {
		Admit    bool
		Reason   string
		Messages []string
	}
}

func (c admitCase) answer() recordings.Answer {
	handler := eviction.NewAdmitHandler(func() []v1.NodeConditionType { return c.Conditions })
	verdict, err := handler.Admit(context.Background(), admission.Request{Pod: c.Pod})
	if err != nil {
		return recordings.Answer{Got: err.Error()}
	}
	return recordings.Answer{
		Agrees: c.Want.Admit == (verdict.Outcome == admission.Admit) && c.Want.Reason == verdict.Reason &&
			slices.Contains(c.Want.Messages, verdict.Message),
		Got: verdict,
	}
}

// thresholdsCase is one line of thresholds.jsonl.
type thresholdsCase struct {
	Config recordedSettings
	Want   struct {
		Thresholds []recordedThreshold
		Error      string
	}
	ErrorOneOf       []string `json:"error_one_of"`
	AfterContainerFs []struct {
		DedicatedImageFs     bool `json:"dedicated_image_fs"`
		DedicatedContainerFs bool `json:"dedicated_container_fs"`
		Thresholds           []recordedThreshold
		Error                string
	} `json:"after_containerfs"`
}

type recordedThreshold struct {
	Signal       eviction.Signal `json:"signal"`
	Operator     string          `json:"operator"`
	Value        recordedAmount  `json:"value"`
	GraceSeconds float64         `json:"grace_seconds"`
	MinReclaim   *recordedAmount `json:"min_reclaim,omitempty"`
}

type recordedAmount struct {
	Quantity   string `json:"quantity,omitempty"`
	Percentage any    `json:"percentage,omitempty"`
}

func (c thresholdsCase) answer() recordings.Answer {
	thresholds, err := c.Config.settings().Thresholds()
	if err != nil {
		return recordings.Answer{Agrees: err.Error() == c.Want.Error || slices.Contains(c.ErrorOneOf, err.Error()), Got: err.Error()}
	}
	if got := recordedThresholds(thresholds); c.Want.Error != "" || recordings.JSON(got) != recordings.JSON(c.Want.Thresholds) {
		return recordings.Answer{Got: got}
	}
	for _, after := range c.AfterContainerFs {
		layout := eviction.Layout{DedicatedImageFs: after.DedicatedImageFs, DedicatedContainerFs: after.DedicatedContainerFs}
		derived, given := eviction.ContainerFsThresholds(thresholds, layout)
		if got := recordedThresholds(derived); recordings.JSON(got) != recordings.JSON(after.Thresholds) || !warned(after.Error, given) {
			return recordings.Answer{Got: got}
		}
	}
	return recordings.Answer{Agrees: true}
}

// warned tells whether the warning is about one of the given thresholds. The
// recordings say "any" wherever the configuration names more than one.
func warned(warning string, given []eviction.Threshold) bool {
	if warning == "any" || warning == "" {
		return warning == "any" || len(given) == 0
	}
	return slices.ContainsFunc(given, func(t eviction.Threshold) bool {
		kind := "hard"
		if t.GracePeriod > 0 {
			kind = "soft"
		}
		return warning == fmt.Sprintf("found %s for %s eviction. ignoring", t.Signal, kind)
	})
}

// recordedThresholds puts thresholds in the form and order of the recordings.
func recordedThresholds(thresholds []eviction.Threshold) []recordedThreshold {
	list := []recordedThreshold{}
	for _, t := range thresholds {
		r := recordedThreshold{
			Signal: t.Signal, Operator: "LessThan", Value: recorded(t.Value), GraceSeconds: t.GracePeriod.Seconds(),
		}
		if t.MinReclaim != nil {
			amount := recorded(*t.MinReclaim)
			r.MinReclaim = &amount
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b recordedThreshold) int {
		return cmp.Or(cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.GraceSeconds, b.GraceSeconds), cmp.Compare(recordings.JSON(a.Value), recordings.JSON(b.Value)))
	})
	return list
}

func recorded(a eviction.Amount) recordedAmount {
	if a.Quantity != nil {
		return recordedAmount{Quantity: a.Quantity.String()}
	}
	if text := fmt.Sprint(a.Fraction); text == "NaN" || text == "+Inf" {
		return recordedAmount{Percentage: text}
	}
	if a.Fraction == 0 {
		return recordedAmount{}
	}
	var number any
	if err := json.Unmarshal([]byte(recordings.JSON(a.Fraction)), &number); err != nil {
		panic(err)
	}
	return recordedAmount{Percentage: number}
}
