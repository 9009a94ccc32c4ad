package admissiontest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/admissiontest"
)

// drawer has whole cpus to give. Its faults break the rules one by one.
type drawer struct {
	free      int64
	held      map[types.UID]int64
	committed map[types.UID]bool
	fault
}

type fault int

const (
	none fault = iota
	endless
	admitTakes
	refusesOwner
	takesAgain
	forgetsRelease
	forgetsCommitted
	forgetsUncommitted
	freesAgain
	freesStrangers
	leavesParts
	dropsWhatIsRefused
	keepsMore
	keepsWhenCancelled
	writesPod
	writesLedger
	noReason
	panics
)

func newDrawer(f fault) func() admission.Reserver {
	return func() admission.Reserver {
		return &drawer{free: 5, held: map[types.UID]int64{}, committed: map[types.UID]bool{}, fault: f}
	}
}

func wants(pod *v1.Pod) int64 { return admission.PodRequests(pod).MilliCPU / 1000 }

func (d *drawer) Admit(_ context.Context, req admission.Request) (admission.Verdict, error) {
	switch {
	case d.fault == admitTakes && d.free > 0:
		d.free--
	case d.fault == refusesOwner && d.free == 0:
		return admission.Rejected("Empty", "nothing is left"), nil
	}
	return admission.Admitted(), nil
}

func (d *drawer) Reserve(ctx context.Context, req admission.Request) (admission.Verdict, error) {
	uid := req.Pod.UID
	more := wants(req.Pod) - d.held[uid]
	switch d.fault {
	case endless:
		d.free = 1 << 40
	case takesAgain:
		more = wants(req.Pod)
	case keepsMore:
		more = max(more, 0)
	case writesPod:
		req.Pod.Labels = map[string]string{"cpu": "0"}
	case writesLedger:
		_ = req.Ledger.Add(req.Pod)
	case keepsWhenCancelled:
		if ctx.Err() != nil {
			d.free -= min(d.free, more)
			return admission.Verdict{}, ctx.Err()
		}
	case panics:
		panic("the drawer is stuck")
	}
	if more > d.free {
		switch d.fault {
		case noReason:
			return admission.Rejected("", ""), nil
		case leavesParts:
			d.free = 0
		case dropsWhatIsRefused:
			d.Release(req.Pod)
		}
		return admission.Rejected("Empty", "nothing is left"), nil
	}
	d.free -= more
	d.held[uid] += more
	return admission.Admitted(), nil
}

func (d *drawer) Commit(pod *v1.Pod) {
	d.committed[pod.UID] = true
	if d.fault == forgetsCommitted {
		delete(d.held, pod.UID)
	}
}

func (d *drawer) Release(pod *v1.Pod) {
	switch n, ok := d.held[pod.UID]; {
	case d.fault == forgetsRelease, d.fault == forgetsUncommitted && !d.committed[pod.UID]:
		return
	case d.fault == freesStrangers && !ok:
		d.free += wants(pod)
	case d.fault == freesAgain:
		d.free += n
		return
	default:
		d.free += n
	}
	delete(d.held, pod.UID)
}

func oneAtATime() admissiontest.Case {
	return admissiontest.Case{Name: "one at a time", Pod: admissiontest.NewPod("p", "cpu=1").Pod, Node: admissiontest.NewNode("n"), Room: 5}
}

func TestReserverThatKeepsTheRules(t *testing.T) {
	cases := append(admissiontest.Cases(), oneAtATime(), admissiontest.Case{
		Name: "two at a time", Pod: admissiontest.NewPod("p", "cpu=2").Pod, Node: admissiontest.NewNode("n"), Room: 2,
	})
	admissiontest.TestReserver(t, newDrawer(none), cases...)
	require.NoError(t, admissiontest.CheckReserver(t.Context(), newDrawer(none), cases...))
}

func TestSuiteCatchesBrokenReservers(t *testing.T) {
	for f, rule := range map[fault]string{
		endless:            "room",
		admitTakes:         "admit-is-pure",
		refusesOwner:       "keeps",
		takesAgain:         "keeps",
		forgetsRelease:     "gives-back",
		forgetsCommitted:   "gives-back",
		forgetsUncommitted: "rolls-back",
		freesAgain:         "release-once",
		freesStrangers:     "release-once",
		leavesParts:        "refusal-is-whole",
		dropsWhatIsRefused: "resize",
		keepsMore:          "takes-back",
		keepsWhenCancelled: "ended-context",
		writesPod:          "does-not-write",
		writesLedger:       "does-not-write",
		noReason:           "well-formed",
		panics:             "panicked",
	} {
		t.Run(rule, func(t *testing.T) {
			err := admissiontest.CheckReserver(t.Context(), newDrawer(f), oneAtATime())
			require.ErrorContains(t, err, rule)
			require.ErrorContains(t, err, `case "one at a time": `)
		})
	}
}

// tray is a drawer as an Allocator.
type tray struct {
	*drawer
	refusal error
}

func newTray(f fault, refusal error) func() admission.Allocator {
	return func() admission.Allocator { return tray{newDrawer(f)().(*drawer), refusal} }
}

func (t tray) Allocate(ctx context.Context, pod *v1.Pod) error {
	v, err := t.Reserve(ctx, admission.Request{Pod: pod})
	if err == nil && v.Outcome != admission.Admit {
		err = t.refusal
	}
	return err
}

func (t tray) Free(pod *v1.Pod) { t.Release(pod) }

type refusal string

func (r refusal) Error() string { return "nothing is left" }
func (r refusal) Type() string  { return string(r) }

func TestAllocatorThatKeepsTheRules(t *testing.T) {
	for _, err := range []error{errors.New("plugin away"), refusal("Empty"), fmt.Errorf("wrapped: %w", refusal("Empty"))} {
		admissiontest.TestAllocator(t, newTray(none, err), append(admissiontest.Cases(), oneAtATime())...)
	}
}

func TestSuiteCatchesBrokenAllocators(t *testing.T) {
	for rule, broken := range map[string]func() admission.Allocator{
		"well-formed":      newTray(none, refusal("")),
		"keeps":            newTray(takesAgain, refusal("Empty")),
		"refusal-is-whole": newTray(leavesParts, refusal("Empty")),
		"release-once":     newTray(freesAgain, refusal("Empty")),
		"does-not-write":   newTray(writesPod, refusal("Empty")),
		"the next: UnexpectedAdmissionError: admission check Reserver: it has no Allocator": func() admission.Allocator { return nil },
	} {
		t.Run(rule, func(t *testing.T) {
			require.ErrorContains(t, admissiontest.CheckAllocator(t.Context(), broken, oneAtATime()), rule)
		})
	}
}

func TestSuitesDoNotPassOverNothing(t *testing.T) {
	admit := admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
		return admission.Admitted(), nil
	})
	nothing := "nothing is checked"
	require.ErrorContains(t, admissiontest.CheckHandler(t.Context(), admit), nothing)
	require.ErrorContains(t, admissiontest.CheckReserver(t.Context(), newDrawer(none)), nothing)
	require.ErrorContains(t, admissiontest.CheckAllocator(t.Context(), newTray(none, nil)), nothing)
	noPod := admissiontest.Case{Name: "no pod", Node: admissiontest.NewNode("node")}
	require.ErrorContains(t, admissiontest.CheckHandler(t.Context(), admit, noPod), "the case has no Pod")
	require.ErrorContains(t, admissiontest.CheckReserver(t.Context(), newDrawer(none), noPod), "the case has no Pod")

	noNode := oneAtATime()
	noNode.Node = nil
	require.NoError(t, admissiontest.CheckReserver(t.Context(), newDrawer(none), noNode))
	require.ErrorContains(t, admissiontest.CheckReserver(t.Context(), newDrawer(forgetsRelease), noNode),
		"all have left, and the next is not let in: Empty: nothing is left")
	require.ErrorContains(t, admissiontest.CheckReserver(t.Context(), newDrawer(panics), noNode),
		"admissiontest_test.(*drawer)", "it says where it panicked")
}
