package admissiontest

import (
	"context"
	"testing"

	"github.com/kubeparts/kubeparts/admission"
)

// TestReserver checks each rule of an [admission.Reserver] in a subtest of each case:
// what is set aside stays, and comes back, whatever becomes of the pod. Its Admit is a
// matter of [TestHandler]. The function makes a new one that nobody has anything of.
//
// Each case's pod is entered over and over under other names, so cases are worth most
// that fill it with a few pods: what was lost is noticed when there is less room than
// before, and what has more room than a hundred pods need is full for none of them.
func TestReserver(t *testing.T, newReserver func() admission.Reserver, cases ...Case) {
	t.Helper()
	testCases(t, reserverRules, occupied(newReserver), cases)
}

// CheckReserver is [TestReserver] without package testing: the error joins a
// [RuleError] for each rule that is broken in a case. No cases are an
// error too.
func CheckReserver(ctx context.Context, newReserver func() admission.Reserver, cases ...Case) error {
	return checkCases(ctx, reserverRules, occupied(newReserver), cases)
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
