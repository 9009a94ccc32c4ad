package admissiontest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/internal/conformance"
)

// question is what a handler is asked.
type question struct {
	handler admission.AdmitHandler
	request admission.Request
}

func (q question) ask(ctx context.Context) (admission.Verdict, error) {
	return q.handler.Admit(ctx, q.request)
}

// asked puts each case to a handler.
func asked(h admission.AdmitHandler) func(Case) conformance.Open[question] {
	return func(c Case) conformance.Open[question] {
		return func(context.Context) (question, func() error, error) {
			req, err := c.situation()
			return question{h, req}, nil, err
		}
	}
}

var handlerRules = conformance.Rules[question]{
	{Name: "well-formed", Text: "an admission has no Reason, Message or Short; a refusal has a Reason and a Message", Check: wellFormed},
	{Name: "stable", Text: "the same situation gets the same verdict", Check: stable},
	{Name: "concurrent", Text: "calls from many goroutines get the verdict that one gets", Check: concurrent},
	{Name: "does-not-write", Text: "a handler writes to nothing that it is given: not to the pod, the node or the ledger", Check: doesNotWrite},
	{Name: "honest-class", Text: "a handler of class PodAlone needs neither node nor ledger", Check: honestClass},
	{Name: "honest-short", Text: "a handler that says what is short admits the pod once there is that much more room", Check: honestShort},
}

func wellFormed(ctx context.Context, q question) error {
	v, err := q.ask(ctx)
	switch {
	case err != nil:
		return nil // it could not judge, which is allowed
	case v.Outcome == admission.Admit && (v.Reason != "" || v.Message != "" || v.Short != nil || v.RetryAfter != 0):
		return fmt.Errorf("it admits, with %+v", v)
	case v.Outcome == admission.Admit:
		return nil
	case v.Outcome != admission.Reject && v.Outcome != admission.Retry:
		return fmt.Errorf("unknown outcome %q", v.Outcome)
	case v.Reason == "" || v.Message == "":
		return fmt.Errorf("it refuses with Reason %q, Message %q", v.Reason, v.Message)
	}
	return nil
}

func stable(ctx context.Context, q question) error {
	first, firstErr := q.ask(ctx)
	for range 3 {
		v, err := q.ask(ctx)
		if !reflect.DeepEqual(v, first) || (err == nil) != (firstErr == nil) {
			return fmt.Errorf("first %+v (%v), then %+v (%v)", first, firstErr, v, err)
		}
	}
	return nil
}

func concurrent(ctx context.Context, q question) error {
	first, firstErr := q.ask(ctx)
	var calls sync.WaitGroup
	wrong := make([]error, 8)
	for i := range wrong {
		// Its own, so that what they share is the handler: who writes to the rest
		// breaks another rule.
		own, req := q, &q.request
		own.request.Pod, own.request.Node, own.request.Ledger = req.Pod.DeepCopy(), req.Node.DeepCopy(), req.Ledger.Fork()
		calls.Go(func() {
			wrong[i] = conformance.Guard(func() error {
				v, err := own.ask(ctx)
				if !reflect.DeepEqual(v, first) || (err == nil) != (firstErr == nil) {
					return fmt.Errorf("alone %+v (%v), beside others %+v (%v)", first, firstErr, v, err)
				}
				return nil
			})
		})
	}
	calls.Wait()
	return cmp.Or(wrong...)
}

func doesNotWrite(ctx context.Context, q question) error {
	req := q.request
	pod, node := req.Pod.DeepCopy(), req.Node.DeepCopy()
	pods, used := req.Ledger.Pods(), req.Ledger.Used()
	_, _ = q.ask(ctx)
	switch {
	case !equality.Semantic.DeepEqual(pod, req.Pod):
		return errors.New("it wrote to the pod")
	case !equality.Semantic.DeepEqual(node, req.Node):
		return errors.New("it wrote to the node")
	case pods != req.Ledger.Pods() || !reflect.DeepEqual(used, req.Ledger.Used()):
		return errors.New("it wrote to the ledger")
	}
	return nil
}

func honestClass(ctx context.Context, q question) error {
	if c, ok := q.handler.(admission.Classer); !ok || c.Class() != admission.PodAlone {
		return nil
	}
	with, withErr := q.ask(ctx)
	q.request.Node, q.request.Ledger = nil, admission.NewLedger()
	without, err := q.ask(ctx)
	if !reflect.DeepEqual(with, without) || (err == nil) != (withErr == nil) {
		return fmt.Errorf("with a node %+v (%v), without %+v (%v)", with, withErr, without, err)
	}
	return nil
}

func honestShort(ctx context.Context, q question) error {
	v, err := q.ask(ctx)
	if err != nil || len(v.Short) == 0 {
		return nil
	}
	if v.Outcome != admission.Reject {
		return fmt.Errorf("it says what is short with outcome %s", v.Outcome)
	}
	for _, s := range v.Short {
		if s.Missing() <= 0 {
			return fmt.Errorf("short of nothing: %+v", s)
		}
		more := s.Capacity + s.Missing()
		if more < 0 {
			return nil // more than can be counted
		}
		node := q.request.Node
		if node.Status.Allocatable == nil {
			node.Status.Allocatable = v1.ResourceList{}
		}
		room := resource.NewQuantity(more, resource.DecimalSI)
		if s.Resource == v1.ResourceCPU {
			room = resource.NewMilliQuantity(more, resource.DecimalSI)
		}
		node.Status.Allocatable[s.Resource] = *room
	}
	v, err = q.ask(ctx)
	if err != nil || v.Outcome != admission.Admit {
		return fmt.Errorf("with all that it was short of: %+v (%v)", v, err)
	}
	return nil
}
