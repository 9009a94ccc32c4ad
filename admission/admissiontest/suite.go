package admissiontest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/internal/conformance"
)

// Case is a situation that a handler is asked about.
type Case struct {
	Name string
	// Pod is the one that asks; required.
	Pod *v1.Pod
	// Node is where; nil is a chain that has none.
	Node *v1.Node
	// Running are the pods that are there already.
	Running []*v1.Pod
	// Room is how many pods like Pod a Reserver lets in; zero does not say. Only
	// [TestReserver] and [TestAllocator] look at it.
	Room int
}

// Cases are situations that every handler should cope with. Add those in which
// yours refuses: a rule about refusals is only as good as the refusals it sees.
func Cases() []Case {
	node := NewNode("node", "cpu=4", "memory=8Gi")
	return []Case{
		{Name: "room for all", Pod: NewPod("new", "cpu=1", "memory=1Gi").Pod, Node: node},
		{Name: "no room", Pod: NewPod("new", "cpu=3").HostPorts(80).Pod, Node: node,
			Running: []*v1.Pod{NewPod("a", "cpu=2").HostPorts(80).Pod}},
		{Name: "static", Pod: NewPod("new").Static().Pod, Node: node},
		{Name: "critical", Pod: NewPod("new", "cpu=8").Critical().Pod, Node: node},
		{Name: "empty pod and node", Pod: &v1.Pod{}, Node: &v1.Node{}},
	}
}

// errNoCases keeps a suite from passing over nothing.
var errNoCases = errors.New("there are no cases, so nothing is checked")

// TestHandler checks each rule of an [admission.AdmitHandler] in a subtest of each
// case. One that sets something aside has a suite of its own, [TestReserver].
func TestHandler(t *testing.T, h admission.AdmitHandler, cases ...Case) {
	t.Helper()
	testCases(t, handlerRules, asked(h), cases)
}

// RuleError is a rule that an implementation breaks: its Name and Text, and how, Err.
// The errors of the suites join one for each.
type RuleError = conformance.RuleError

// CheckHandler is [TestHandler] without package testing: the error joins a
// [RuleError] for each rule that is broken in a case. No cases are an
// error too.
func CheckHandler(ctx context.Context, h admission.AdmitHandler, cases ...Case) error {
	return checkCases(ctx, handlerRules, asked(h), cases)
}

// testCases checks all rules in all cases.
func testCases[S any](t *testing.T, rules conformance.Rules[S], in func(Case) conformance.Open[S], cases []Case) {
	t.Helper()
	if len(cases) == 0 {
		t.Error(errNoCases)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			rules.Test(t, func(*testing.T) conformance.Open[S] { return in(c) }, conformance.Options{})
		})
	}
}

func checkCases[S any](ctx context.Context, rules conformance.Rules[S], in func(Case) conformance.Open[S], cases []Case) error {
	if len(cases) == 0 {
		return errNoCases
	}
	var broken []error
	for _, c := range cases {
		if err := rules.Check(ctx, in(c), conformance.Options{}); err != nil {
			broken = append(broken, fmt.Errorf("case %q: %w", c.Name, err))
		}
	}
	return errors.Join(broken...)
}

// situation is a case made anew, so that what a broken handler does to one does
// not reach the next.
func (c Case) situation() (admission.Request, error) {
	if c.Pod == nil {
		return admission.Request{}, errors.New("the case has no Pod")
	}
	ledger := admission.NewLedger()
	for _, pod := range c.Running {
		if err := ledger.Add(pod.DeepCopy()); err != nil {
			return admission.Request{}, err
		}
	}
	return admission.Request{Pod: c.Pod.DeepCopy(), Node: c.Node.DeepCopy(), Ledger: ledger, OS: "linux"}, nil
}
