package admission_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/internal/recordings"
)

type admissionCase struct {
	Form        string           `json:"form"`
	Node        *v1.Node         `json:"node"`
	FreshNode   *v1.Node         `json:"fresh_node"`
	NodeError   string           `json:"node_error"`
	PluginError string           `json:"plugin_error"`
	Pods        []*v1.Pod        `json:"pods"`
	Pod         *v1.Pod          `json:"pod"`
	Want        recordedAnswer   `json:"want"`
	Others      []recordedAnswer `json:"alternatives"`
}

// nodes gives the recorded node, and the fresh one when it is asked for.
func (c *admissionCase) nodes() admission.NodeGetter {
	return admission.NodeFunc(func(_ context.Context, fresh bool) (*v1.Node, error) {
		if c.NodeError != "" {
			return nil, errors.New(c.NodeError)
		}
		if fresh && c.FreshNode != nil {
			return c.FreshNode, nil
		}
		return c.Node, nil
	})
}

func (c *admissionCase) chain(t *testing.T) *admission.Chain {
	t.Helper()
	fit := admission.NodeFit{}
	if c.PluginError != "" {
		fit.Devices = func(context.Context, *v1.Pod, v1.ResourceList) (v1.ResourceList, error) {
			return nil, errors.New(c.PluginError)
		}
	}
	chain := &admission.Chain{
		Ledger: admission.NewLedger(), Nodes: c.nodes(), Checks: admission.NodeChecks(fit), OS: "linux",
	}
	for i, pod := range c.Pods {
		if c.Form == "kubelet" && (admission.Finished(pod) || pod.UID == c.Pod.UID) {
			continue
		}
		other := *pod // the handler counts a pod of the candidate's UID too
		other.UID = types.UID(fmt.Sprint("other-", i))
		require.NoError(t, chain.Enter(&other))
	}
	return chain
}

// failures are all that the predicates found, as the recordings list them.
func failures(d admission.Decision) []recordedFailure {
	var list []recordedFailure
	for _, c := range d.Failures {
		switch {
		case len(c.Short) > 0:
			for _, s := range c.Short {
				list = append(list, recordedFailure{Kind: "resource", Resource: string(s.Resource),
					Requested: s.Requested, Used: s.Used, Capacity: s.Capacity})
			}
		default:
			list = append(list, recordedFailure{Kind: "predicate", Name: c.Reason, Desc: describe(c.Message)})
		}
	}
	return list
}

func judgeAdmission(t *testing.T, line []byte) recordings.Answer {
	var c admissionCase
	decode(t, line, &c)
	d, err := c.chain(t).Check(t.Context(), c.Pod)
	require.NoError(t, err)
	got := recordedAnswer{Admit: d.Outcome == admission.Admit, Reason: d.Reason, Message: d.Message}
	if c.Want.Failures != nil {
		got.Failures = failures(d)
	}
	f := recordings.Compare(c.Want, got)
	for _, other := range c.Others {
		f.Agrees = f.Agrees || recordings.Compare(other, got).Agrees
	}
	// Rule: what the kubelet rejects for good because it could not find out is
	// tried again here, with the same Reason and Message.
	if f.Agrees && d.Outcome == admission.Retry && c.NodeError+c.PluginError != "" {
		f = recordings.Answer{Rule: "retried, not rejected"}
	}
	return f
}

func judgeQOS(t *testing.T, line []byte) recordings.Answer {
	type answer struct {
		Computed v1.PodQOSClass `json:"computed"`
		QOS      v1.PodQOSClass `json:"qos"`
		Static   bool           `json:"static"`
		Mirror   bool           `json:"mirror"`
		Critical bool           `json:"critical"`
	}
	var c struct {
		Pod  *v1.Pod `json:"pod"`
		Want answer  `json:"want"`
	}
	decode(t, line, &c)
	return recordings.Compare(c.Want, answer{
		Computed: admission.SpecQOS(c.Pod),
		QOS:      admission.QOS(c.Pod),
		Static:   admission.IsStatic(c.Pod),
		Mirror:   admission.IsMirror(c.Pod),
		Critical: admission.IsCritical(c.Pod),
	})
}

// recordedVictim is what the kubelet did to a pod that gave way.
type recordedVictim struct {
	Name           string            `json:"name"`
	QOS            string            `json:"qos"`
	IsEvicted      bool              `json:"is_evicted"`
	GracePeriodSet bool              `json:"grace_period_set"`
	Phase          v1.PodPhase       `json:"phase"`
	StatusReason   string            `json:"status_reason"`
	StatusMessage  string            `json:"status_message"`
	Conditions     []v1.PodCondition `json:"conditions,omitempty"`
}

type recordedPreemption struct {
	recordedAnswer
	Victims []recordedVictim `json:"victims"`
	Events  []string         `json:"events"`
}

func judgePreemption(t *testing.T, line []byte) recordings.Answer {
	var c struct {
		admissionCase
		Insufficient []admission.Need     `json:"insufficient"`
		Want         recordedPreemption   `json:"want"`
		Others       []recordedPreemption `json:"alternatives"`
	}
	decode(t, line, &c)
	chain := c.chain(t)
	chain.Preempt = true
	d, err := chain.Check(t.Context(), c.Pod)
	require.NoError(t, err)

	got := recordedPreemption{recordedAnswer: recordedAnswer{Admit: true}, Victims: []recordedVictim{}, Events: []string{}}
	if d.Outcome != admission.Admit && d.Plan == nil {
		got.recordedAnswer = recordedAnswer{Reason: d.Reason, Message: d.Message}
	}
	if c.Want.Failures != nil {
		got.Failures = failures(d)
	}
	if d.Plan != nil {
		for _, v := range d.Plan.Victims {
			got.Victims = append(got.Victims, recordedVictim{
				Name: v.Pod.Name, QOS: string(v.QOS), IsEvicted: true, Phase: v1.PodFailed,
				StatusReason: admission.ReasonPreempting, StatusMessage: admission.MessagePreempted,
				Conditions: []v1.PodCondition{{
					Type: v1.DisruptionTarget, Status: v1.ConditionTrue,
					Reason: v1.PodReasonTerminationByKubelet, Message: admission.DisruptionPreempted,
				}},
			})
			got.Events = append(got.Events, "Warning "+admission.ReasonPreempting+" "+admission.MessagePreempted)
		}
	}
	f := recordings.Compare(c.Want, got)
	for _, other := range c.Others {
		f.Agrees = f.Agrees || recordings.Compare(other, got).Agrees
	}
	if d.Plan != nil && f.Agrees && len(c.Insufficient) > 0 {
		require.Equal(t, c.Insufficient, d.Plan.Needs)
	}
	return f
}
