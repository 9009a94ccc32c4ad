package admissiontest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
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

// TestHandler runs the suite over a handler. One that sets something aside has a
// suite of its own, [TestReserver].
func TestHandler(t *testing.T, h admission.AdmitHandler, cases ...Case) {
	t.Helper()
	if len(cases) == 0 {
		t.Error(errNoCases)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, c := range cases {
				if err := r.try(t.Context(), h, c); err != nil {
					t.Errorf("case %q: %v\nrule: %s", c.Name, err, r.rule)
				}
			}
		})
	}
}

// CheckHandler is the suite as one error, which joins a *RuleError for each rule
// that the handler breaks in a case; nil when it keeps all. Without cases there is
// nothing to keep, which is an error too.
func CheckHandler(ctx context.Context, h admission.AdmitHandler, cases ...Case) error {
	if len(cases) == 0 {
		return errNoCases
	}
	var broken []error
	for _, r := range rules {
		for _, c := range cases {
			if err := r.try(ctx, h, c); err != nil {
				broken = append(broken, &RuleError{Name: r.name, Rule: r.rule, Case: c.Name, Err: err})
			}
		}
	}
	return errors.Join(broken...)
}

// RuleError is one rule of a suite that is broken.
type RuleError struct {
	Name string // of the rule
	Rule string // the sentence that it enforces
	Case string // in which it was broken
	Err  error  // what was seen
}

// Error says which rule was broken, in what case, and how.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s, case %q: %v (rule: %s)", e.Name, e.Case, e.Err, e.Rule)
}

// Unwrap returns Err.
func (e *RuleError) Unwrap() error { return e.Err }

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
