package admissiontest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/admission"
)

type rule struct {
	name, rule string
	check      func(context.Context, admission.AdmitHandler, admission.Request) error
}

// try runs a rule on a case; a panic is an error.
func (r rule) try(ctx context.Context, h admission.AdmitHandler, c Case) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	req, err := c.situation()
	if err != nil {
		return err
	}
	return r.check(ctx, h, req)
}

// panicked is a panic as an error that says where it was, for the rest of its stack
// is the suite's. A deferred function calls it.
func panicked(p any) error {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Errorf("it panicked in %s (%s:%d): %v", f.Function, f.File, f.Line, p)
		}
		if !more {
			return fmt.Errorf("it panicked: %v", p)
		}
	}
}

var rules = []rule{
	{"WellFormed", "an admission has no Reason, Message or Short; a refusal has a Reason and a Message", wellFormed},
	{"Stable", "the same situation gets the same verdict", stable},
	{"Concurrent", "calls from many goroutines get the verdict that one gets", concurrent},
	{"DoesNotWrite", "a handler writes to nothing that it is given: not to the pod, the node or the ledger", doesNotWrite},
	{"HonestClass", "a handler of class PodAlone needs neither node nor ledger", honestClass},
	{"HonestShort", "a handler that says what is short admits the pod once there is that much more room", honestShort},
}

func wellFormed(ctx context.Context, h admission.AdmitHandler, req admission.Request) error {
	v, err := h.Admit(ctx, req)
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

func stable(ctx context.Context, h admission.AdmitHandler, req admission.Request) error {
	first, firstErr := h.Admit(ctx, req)
	for range 3 {
		v, err := h.Admit(ctx, req)
		if !reflect.DeepEqual(v, first) || (err == nil) != (firstErr == nil) {
			return fmt.Errorf("first %+v (%v), then %+v (%v)", first, firstErr, v, err)
		}
	}
	return nil
}

func concurrent(ctx context.Context, h admission.AdmitHandler, req admission.Request) error {
	first, firstErr := h.Admit(ctx, req)
	var calls sync.WaitGroup
	wrong := make([]error, 8)
	for i := range wrong {
		// Its own, so that what they share is the handler: who writes to the rest
		// breaks another rule.
		own := req
		own.Pod, own.Node, own.Ledger = req.Pod.DeepCopy(), req.Node.DeepCopy(), req.Ledger.Fork()
		calls.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					wrong[i] = fmt.Errorf("it panicked: %v", p)
				}
			}()
			v, err := h.Admit(ctx, own)
			if !reflect.DeepEqual(v, first) || (err == nil) != (firstErr == nil) {
				wrong[i] = fmt.Errorf("alone %+v (%v), beside others %+v (%v)", first, firstErr, v, err)
			}
		})
	}
	calls.Wait()
	return cmp.Or(wrong...)
}

func doesNotWrite(ctx context.Context, h admission.AdmitHandler, req admission.Request) error {
	pod, node := req.Pod.DeepCopy(), req.Node.DeepCopy()
	pods, used := req.Ledger.Pods(), req.Ledger.Used()
	_, _ = h.Admit(ctx, req)
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

func honestClass(ctx context.Context, h admission.AdmitHandler, req admission.Request) error {
	if c, ok := h.(admission.Classer); !ok || c.Class() != admission.PodAlone {
		return nil
	}
	with, withErr := h.Admit(ctx, req)
	req.Node, req.Ledger = nil, admission.NewLedger()
	without, err := h.Admit(ctx, req)
	if !reflect.DeepEqual(with, without) || (err == nil) != (withErr == nil) {
		return fmt.Errorf("with a node %+v (%v), without %+v (%v)", with, withErr, without, err)
	}
	return nil
}

func honestShort(ctx context.Context, h admission.AdmitHandler, req admission.Request) error {
	v, err := h.Admit(ctx, req)
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
		if req.Node.Status.Allocatable == nil {
			req.Node.Status.Allocatable = v1.ResourceList{}
		}
		q := resource.NewQuantity(more, resource.DecimalSI)
		if s.Resource == v1.ResourceCPU {
			q = resource.NewMilliQuantity(more, resource.DecimalSI)
		}
		req.Node.Status.Allocatable[s.Resource] = *q
	}
	v, err = h.Admit(ctx, req)
	if err != nil || v.Outcome != admission.Admit {
		return fmt.Errorf("with all that it was short of: %+v (%v)", v, err)
	}
	return nil
}
