package admissiontest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/admissiontest"
)

func TestKubeletsChecksKeepTheRules(t *testing.T) {
	cases := append(admissiontest.Cases(), admissiontest.Case{
		Name: "elsewhere",
		Pod: func() *v1.Pod {
			pod := admissiontest.NewPod("new").Pod
			pod.Spec.NodeName = "elsewhere"
			pod.Spec.NodeSelector = map[string]string{"zone": "b"}
			pod.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "vm.x"}}}
			return pod
		}(),
		Node: admissiontest.NewNode("node"),
	})
	for _, check := range admission.KubeletChecks(admission.Kubelet{Allocator: nobody{}}) {
		t.Run(check.Name, func(t *testing.T) { admissiontest.TestHandler(t, check.Handler, cases...) })
	}
}

type nobody struct{}

func (nobody) Allocate(context.Context, *v1.Pod) error { return nil }
func (nobody) Free(*v1.Pod)                            {}

type classed struct {
	admission.AdmitFunc
	class admission.Class
}

func (c classed) Class() admission.Class { return c.class }

// busy takes its time, and judges one pod after the other.
type busy struct{ at atomic.Bool }

func (b *busy) Admit(context.Context, admission.Request) (admission.Verdict, error) {
	if b.at.Swap(true) {
		return admission.Rejected("Busy", "come again"), nil
	}
	defer b.at.Store(false)
	time.Sleep(time.Second) // in a bubble: all who ask meanwhile find it busy
	return admission.Admitted(), nil
}

func TestSuiteCatchesBrokenHandlers(t *testing.T) {
	var calls atomic.Int64
	admit := func(context.Context, admission.Request) (admission.Verdict, error) { return admission.Admitted(), nil }
	for rule, broken := range map[string]admission.AdmitHandler{
		"case \"static\": well-formed": admission.AdmitFunc(func(_ context.Context, r admission.Request) (admission.Verdict, error) {
			return admission.Verdict{Outcome: admission.Reject}, nil
		}),
		"case \"room for all\": well-formed": admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.Verdict{Outcome: admission.Admit, Reason: "Why"}, nil
		}),
		"unknown outcome": admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.Verdict{}, nil
		}),
		"stable": admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.Rejected("Again", fmt.Sprint(calls.Add(1))), nil
		}),
		"wrote to the pod": admission.AdmitFunc(func(_ context.Context, r admission.Request) (admission.Verdict, error) {
			r.Pod.Spec.NodeName = "mine"
			return admission.Admitted(), nil
		}),
		"wrote to the node": admission.AdmitFunc(func(_ context.Context, r admission.Request) (admission.Verdict, error) {
			r.Node.Name = "mine"
			return admission.Admitted(), nil
		}),
		"wrote to the ledger": admission.AdmitFunc(func(_ context.Context, r admission.Request) (admission.Verdict, error) {
			_ = r.Ledger.Add(r.Pod)
			return admission.Admitted(), nil
		}),
		"honest-class": classed{func(_ context.Context, r admission.Request) (admission.Verdict, error) {
			if r.Node == nil {
				return admission.Rejected("NoNode", "there is none"), nil
			}
			return admission.Admitted(), nil
		}, admission.PodAlone},
		"honest-short": admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.RejectedShort([]admission.Shortage{{Resource: "cpu", Requested: 1}}), nil
		}),
		"panicked": admission.AdmitFunc(func(_ context.Context, r admission.Request) (admission.Verdict, error) {
			_ = r.Pod.Spec.Containers[0]
			return admission.Admitted(), nil
		}),
	} {
		t.Run(rule, func(t *testing.T) {
			require.ErrorContains(t, admissiontest.CheckHandler(t.Context(), broken, admissiontest.Cases()...), rule)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		require.ErrorContains(t, admissiontest.CheckHandler(t.Context(), &busy{}, admissiontest.Cases()...), "concurrent")
	})
	require.NoError(t, admissiontest.CheckHandler(t.Context(), admission.AdmitFunc(admit), admissiontest.Cases()...))
}

// A check of a chain as tests make it allocates nothing: its node has the label of its
// operating system, so that no copy of it is put right for each check.
func TestChainOfATestAllocatesNothing(t *testing.T) {
	chain := admissiontest.NewChain(admissiontest.NewNode("node", "cpu=4"))
	p := chain.Prepare(admissiontest.NewPod("new", "cpu=1").HostPorts(80).Pod)
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if d, err := chain.CheckPrepared(ctx, p); err != nil || d.Outcome != admission.Admit {
			t.Error(d, err)
		}
	}))
}
