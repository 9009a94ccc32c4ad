package admissiontest

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/internal/conformance"
)

// mostPods is with how many pods a Reserver is filled at most.
const mostPods = 100

// tenancy is a chain with a Reserver for its only check, and a pod of which
// copies come and go there.
type tenancy struct {
	chain    *admission.Chain
	reserver admission.Reserver
	pod      *v1.Pod
	node     *v1.Node
	said     int // how many copies the case says that there is room for
	room     int // how many there is room for
	copies   int // made so far
	in       []*v1.Pod
	refusal  string // what the last one was told that was not let in
}

// occupied makes a tenancy of each case, and finds out with another one how much room
// there is.
func occupied(newReserver func() admission.Reserver) func(Case) conformance.Open[*tenancy] {
	return func(c Case) conformance.Open[*tenancy] {
		return func(ctx context.Context) (*tenancy, func() error, error) {
			first, err := newTenancy(newReserver(), c, 0)
			if err != nil {
				return nil, nil, err
			}
			in, err := first.fill(ctx, mostPods)
			if err != nil {
				return nil, nil, err
			}
			t, err := newTenancy(newReserver(), c, len(in))
			return t, nil, err
		}
	}
}

// newTenancy makes the situation of a case.
func newTenancy(r admission.Reserver, c Case, room int) (*tenancy, error) {
	req, err := c.situation()
	if err != nil {
		return nil, err
	}
	chain := &admission.Chain{
		Ledger: req.Ledger, OS: req.OS, Checks: []admission.Check{{Name: "Reserver", Handler: r}},
	}
	if req.Node != nil {
		chain.Nodes = admission.FixedNode(req.Node)
	}
	return &tenancy{
		chain:    chain,
		reserver: r, pod: req.Pod, node: req.Node, said: c.Room, room: room,
	}, nil
}

// copy is one more pod like that of the case.
func (t *tenancy) copy() *v1.Pod {
	t.copies++
	pod := t.pod.DeepCopy()
	pod.Name = fmt.Sprintf("%s-%d", pod.Name, t.copies)
	pod.UID = types.UID(pod.Name)
	return pod
}

// reservation asks the Reserver about a pod that is not in, without the chain.
func (t *tenancy) reservation(pod *v1.Pod) question {
	return question{
		handler: admission.AdmitFunc(t.reserver.Reserve),
		request: admission.Request{Pod: pod, Node: t.node, Ledger: t.chain.Ledger, OS: t.chain.OS},
	}
}

// admit tells whether the pod is let in.
func (t *tenancy) admit(ctx context.Context, pod *v1.Pod) (bool, error) {
	d, err := t.chain.Admit(ctx, pod)
	if d.Outcome != admission.Admit {
		t.refusal = fmt.Sprintf("%s: %s", d.Reason, d.Message)
	}
	return d.Outcome == admission.Admit, err
}

// fill lets in copies until one is refused, or there are so many.
func (t *tenancy) fill(ctx context.Context, most int) (in []*v1.Pod, err error) {
	for len(in) < most {
		pod := t.copy()
		admitted, err := t.admit(ctx, pod)
		if err != nil || !admitted {
			return in, err
		}
		in, t.in = append(in, pod), append(t.in, pod)
	}
	return in, nil
}

// wantRoom fills what is left and holds how many came in against what there
// should be room for.
func (t *tenancy) wantRoom(ctx context.Context, want int, when string) error {
	in, err := t.fill(ctx, mostPods)
	if err == nil && t.room < mostPods && len(in) != want {
		err = fmt.Errorf("%s there is room for %d more of them, and should be for %d", when, len(in), want)
	}
	return err
}

// leave ends a pod.
func (t *tenancy) leave(pod *v1.Pod) error {
	if !t.chain.Remove(admission.KeyOf(pod)) {
		return errors.New("a pod that was admitted is not in the ledger")
	}
	return nil
}

// leaveAll ends all pods that came in by fill and are there yet.
func (t *tenancy) leaveAll() error {
	for _, pod := range t.in {
		if err := t.leave(pod); err != nil {
			return err
		}
	}
	t.in = nil
	return nil
}

// doubled is the pod with twice the resources.
func doubled(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	double := func(r *v1.ResourceRequirements) {
		for _, list := range []v1.ResourceList{r.Requests, r.Limits} {
			for name, q := range list {
				q.Add(list[name])
				list[name] = q
			}
		}
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			double(&list[i].Resources)
		}
	}
	return pod
}
