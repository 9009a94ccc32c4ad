package admissiontest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/internal/conformance"
)

// reserverRules are checked on tenancies, each with a new Reserver that nobody has
// anything of.
var reserverRules = conformance.Rules[*tenancy]{
	{Name: "room", Text: "as many pods come in as the case says, and the same number with each new Reserver", Check: hasRoom},
	{Name: "admit-is-pure", Text: "Admit sets nothing aside", Check: admitIsPure},
	{Name: "well-formed", Text: "a reservation has no Reason, Message or Short; a refusal has a Reason and a Message", Check: reservesWellFormed},
	{Name: "does-not-write", Text: "Reserve, Commit and Release write to nothing that they are given", Check: reserveDoesNotWrite},
	{Name: "keeps", Text: "a pod that has its things is let in again, also when nothing is left, and gets nothing twice", Check: keeps},
	{Name: "gives-back", Text: "what a pod had is there for the next when it is gone", Check: givesBack},
	{Name: "rolls-back", Text: "what was reserved and not committed is given back", Check: rollsBack},
	{Name: "refusal-is-whole", Text: "a refusal leaves nothing set aside, not even a part", Check: refusalIsWhole},
	{Name: "release-once", Text: "releasing a pod again, or one that has nothing, gives nothing back", Check: releaseOnce},
	{Name: "resize", Text: "a pod that is refused more keeps what it has, and all that it got comes back", Check: resizes},
	{Name: "takes-back", Text: "more that was reserved for a pod, and not committed, is given back when it is asked for less", Check: takesBack},
	{Name: "ended-context", Text: "a call whose context has ended reserves all or nothing", Check: endedContext},
}

func hasRoom(ctx context.Context, t *tenancy) error {
	if t.said > 0 && t.room != t.said {
		_, _ = t.fill(ctx, mostPods)
		return fmt.Errorf("there is room for %d of them, and the case says %d; the next: %s", t.room, t.said, t.refusal)
	}
	return t.wantRoom(ctx, t.room, "with a new Reserver")
}

func admitIsPure(ctx context.Context, t *tenancy) error {
	for range mostPods {
		if _, err := t.chain.Check(ctx, t.copy()); err != nil {
			return err
		}
	}
	return t.wantRoom(ctx, t.room, "after questions alone")
}

func reservesWellFormed(ctx context.Context, t *tenancy) error {
	pod := t.copy()
	err := wellFormed(ctx, t.reservation(pod))
	t.reserver.Release(pod)
	if err != nil {
		return err
	}
	if _, err := t.fill(ctx, mostPods); err != nil {
		return err
	}
	pod = t.copy()
	defer t.reserver.Release(pod)
	return wellFormed(ctx, t.reservation(pod))
}

func reserveDoesNotWrite(ctx context.Context, t *tenancy) error {
	pod := t.copy()
	if err := doesNotWrite(ctx, t.reservation(pod)); err != nil {
		return err
	}
	before := pod.DeepCopy()
	t.reserver.Commit(pod)
	t.reserver.Release(pod)
	if !reflect.DeepEqual(before, pod) {
		return errors.New("Commit or Release wrote to the pod")
	}
	return nil
}

func keeps(ctx context.Context, t *tenancy) error {
	for most := range min(t.room, 2) { // once with room left, once without
		in, err := t.fill(ctx, 1+most*mostPods)
		if err != nil {
			return err
		}
		if len(in) == 0 {
			return fmt.Errorf("all have left, and the next is not let in: %s", t.refusal)
		}
		for range 3 {
			if admitted, err := t.admit(ctx, in[0]); err != nil {
				return err
			} else if !admitted {
				return errors.New("a pod that has its things is not let in again")
			}
		}
		if err := t.wantRoom(ctx, (t.room-1)*(1-most), "with pods that were asked about again"); err != nil {
			return err
		}
		if err := t.leaveAll(); err != nil {
			return err
		}
	}
	return nil
}

func givesBack(ctx context.Context, t *tenancy) error {
	for range 3 {
		if err := t.wantRoom(ctx, t.room, "after all left"); err != nil {
			return err
		}
		if err := t.leaveAll(); err != nil {
			return err
		}
	}
	return nil
}

func rollsBack(ctx context.Context, t *tenancy) error {
	alone := t.chain.Checks
	t.chain.Checks = besideRefuser(alone)
	if _, err := t.fill(ctx, mostPods); err != nil {
		return err
	}
	for range t.room {
		if _, err := t.admit(ctx, t.copy()); err != nil {
			return err
		}
	}
	t.chain.Checks = alone
	return t.wantRoom(ctx, t.room, "after reservations that another Reserver undid")
}

func besideRefuser(checks []admission.Check) []admission.Check {
	return append(slices.Clone(checks), admission.Check{Name: "Refuser", Handler: refuser{}})
}

// refuser is a Reserver that never has anything.
type refuser struct{}

func (refuser) Admit(context.Context, admission.Request) (admission.Verdict, error) {
	return admission.Admitted(), nil
}

func (refuser) Reserve(context.Context, admission.Request) (admission.Verdict, error) {
	return admission.Rejected("Refused", "there is none"), nil
}

func (refuser) Commit(*v1.Pod)  {}
func (refuser) Release(*v1.Pod) {}

func refusalIsWhole(ctx context.Context, t *tenancy) error {
	if t.room == 0 || t.room == mostPods {
		return nil
	}
	if _, err := t.fill(ctx, t.room-1); err != nil {
		return err
	}
	for range 3 {
		big := doubled(t.copy())
		if admitted, err := t.admit(ctx, big); err != nil {
			return err
		} else if admitted {
			return t.leave(big) // it needs no more than the others
		}
	}
	return t.wantRoom(ctx, 1, "after one that wants twice as much was refused")
}

func releaseOnce(ctx context.Context, t *tenancy) error {
	in, err := t.fill(ctx, mostPods)
	if err != nil || len(in) == 0 {
		return err
	}
	stranger := t.copy()
	t.reserver.Release(stranger)
	if err := t.wantRoom(ctx, 0, "after the release of a pod that has nothing"); err != nil {
		return err
	}
	if err := t.leave(in[0]); err != nil {
		return err
	}
	t.reserver.Release(in[0])
	t.reserver.Release(in[0])
	return t.wantRoom(ctx, 1, "after one pod was released three times")
}

func resizes(ctx context.Context, t *tenancy) error {
	in, err := t.fill(ctx, mostPods)
	if err != nil || len(in) == 0 {
		return err
	}
	big := doubled(in[0])
	d, err := t.chain.Resize(ctx, big)
	if err != nil {
		return err
	}
	if d.Outcome != admission.Admit {
		if err := t.wantRoom(ctx, 0, "after a pod was refused more than it has"); err != nil {
			return err
		}
	}
	if err := t.leaveAll(); err != nil {
		return err
	}
	return t.wantRoom(ctx, t.room, "after a pod left that had asked for more")
}

func takesBack(ctx context.Context, t *tenancy) error {
	in, err := t.fill(ctx, 1)
	if err != nil || len(in) == 0 {
		return err
	}
	alone := t.chain.Checks
	t.chain.Checks = besideRefuser(alone)
	if _, err := t.chain.Resize(ctx, doubled(in[0])); err != nil {
		return err
	}
	t.chain.Checks = alone
	return t.wantRoom(ctx, t.room-1, "after a resize that another Reserver undid")
}

func endedContext(ctx context.Context, t *tenancy) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	in := 0
	for range t.room {
		admitted, err := t.admit(ended, t.copy())
		if err != nil {
			return err
		}
		if admitted {
			in++
		}
	}
	return t.wantRoom(ctx, t.room-in, fmt.Sprintf("after %d that came in with an ended context", in))
}
