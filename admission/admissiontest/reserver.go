package admissiontest

import (
	"context"
	"errors"
	"testing"

	"github.com/kubeparts/kubeparts/admission"
)

// TestReserver runs the suite over anyone's [admission.Reserver]: what is set
// aside stays, and comes back, whatever becomes of the pod. Its Admit is a matter
// of [TestHandler]. The function makes a
// new one that nobody has anything of. Each case's pod is entered over and over
// under other names, so cases are worth most that fill it with a few pods: what
// was lost is noticed when there is less room than before, and what has more
// room than a hundred pods need is full for none of them.
func TestReserver(t *testing.T, newReserver func() admission.Reserver, cases ...Case) {
	t.Helper()
	if len(cases) == 0 {
		t.Error(errNoCases)
	}
	for _, r := range reserverRules {
		t.Run(r.name, func(t *testing.T) {
			for _, c := range cases {
				if err := r.try(t.Context(), newReserver, c); err != nil {
					t.Errorf("case %q: %v\nrule: %s", c.Name, err, r.rule)
				}
			}
		})
	}
}

// CheckReserver is [TestReserver] as one error, which joins a *RuleError for each
// rule that is broken in a case; nil when all are kept. No cases are an error too.
func CheckReserver(ctx context.Context, newReserver func() admission.Reserver, cases ...Case) error {
	if len(cases) == 0 {
		return errNoCases
	}
	var broken []error
	for _, r := range reserverRules {
		for _, c := range cases {
			if err := r.try(ctx, newReserver, c); err != nil {
				broken = append(broken, &RuleError{Name: r.name, Rule: r.rule, Case: c.Name, Err: err})
			}
		}
	}
	return errors.Join(broken...)
}

// TestAllocator is [TestReserver] for anyone's [admission.Allocator].
func TestAllocator(t *testing.T, newAllocator func() admission.Allocator, cases ...Case) {
	t.Helper()
	TestReserver(t, reserverOf(newAllocator), cases...)
}

// CheckAllocator is [CheckReserver] for anyone's [admission.Allocator].
func CheckAllocator(ctx context.Context, newAllocator func() admission.Allocator, cases ...Case) error {
	return CheckReserver(ctx, reserverOf(newAllocator), cases...)
}

func reserverOf(newAllocator func() admission.Allocator) func() admission.Reserver {
	return func() admission.Reserver { return admission.Allocation{Allocator: newAllocator()} }
}
