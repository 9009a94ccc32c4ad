package admission_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// shelf is a Reserver: it keeps for each pod as many cpus as the pod asks for.
type shelf struct {
	name      string
	kept      map[string]int64 // committed
	unsettled map[string]int64 // reserved, and not committed yet
	refuse    func() (admission.Verdict, error)
	log       *[]string
}

func (s *shelf) Admit(context.Context, admission.Request) (admission.Verdict, error) {
	return admission.Admitted(), nil
}

func (s *shelf) Reserve(ctx context.Context, req admission.Request) (admission.Verdict, error) {
	if s.refuse != nil {
		return s.refuse()
	}
	if err := ctx.Err(); err != nil {
		return admission.Verdict{}, err
	}
	*s.log = append(*s.log, "reserve "+s.name)
	s.unsettled[req.Pod.Name] = admission.PodRequests(req.Pod).MilliCPU
	return admission.Admitted(), nil
}

func (s *shelf) Commit(pod *v1.Pod) {
	*s.log = append(*s.log, "commit "+s.name)
	s.kept[pod.Name] = s.unsettled[pod.Name]
	delete(s.unsettled, pod.Name)
}

func (s *shelf) Release(pod *v1.Pod) {
	*s.log = append(*s.log, "release "+s.name)
	delete(s.kept, pod.Name)
	delete(s.unsettled, pod.Name)
}

func shelves(t *testing.T) (*admission.Chain, [3]*shelf, *[]string) {
	t.Helper()
	log := new([]string)
	var all [3]*shelf
	chain := kubeletChain(newNode(resources("pods", "10", "cpu", "8")))
	for i := range all {
		all[i] = &shelf{name: fmt.Sprint(i), kept: map[string]int64{}, unsettled: map[string]int64{}, log: log}
		// Between the other checks: their place is their turn, and nothing else.
		chain.Checks = append(chain.Checks[:i*3:i*3], append([]admission.Check{{Name: all[i].name, Handler: all[i]}}, chain.Checks[i*3:]...)...)
	}
	return chain, all, log
}

// Whichever Reserver refuses, and however, nothing stays set aside that was not
// before, and what a pod had it has.
func TestReservationsAreRolledBackInEveryOrder(t *testing.T) {
	refusals := map[string]func() (admission.Verdict, error){
		"reject": func() (admission.Verdict, error) { return admission.Rejected("None", "left"), nil },
		"retry":  func() (admission.Verdict, error) { return admission.RetryLater("Later", "left", 0), nil },
		"error":  func() (admission.Verdict, error) { return admission.Verdict{}, errors.New("away") },
		"silent": func() (admission.Verdict, error) { return admission.Verdict{}, nil },
	}
	for kind, refuse := range refusals {
		for failing := range 3 {
			t.Run(fmt.Sprint(kind, failing), func(t *testing.T) {
				chain, all, log := shelves(t)
				all[failing].refuse = refuse
				d, err := chain.Admit(t.Context(), newPod("a", resources("cpu", "1")))
				require.NoError(t, err)
				require.NotEqual(t, admission.Admit, d.Outcome)
				require.Len(t, d.Failures, 1)
				require.Equal(t, all[failing].name, d.Failures[0].Name)
				require.Equal(t, [][]string{nil, {"reserve 0", "release 0"}, {"reserve 0", "reserve 1", "release 1", "release 0"}}[failing], *log)
				require.Zero(t, chain.Ledger.Pods())

				all[failing].refuse = nil
				d, err = chain.Admit(t.Context(), newPod("a", resources("cpu", "1")))
				require.NoError(t, err)
				require.Equal(t, admission.Admit, d.Outcome)
				*log = nil
				all[failing].refuse = refuse
				d, err = chain.Resize(t.Context(), newPod("a", resources("cpu", "2")))
				require.NoError(t, err)
				require.NotEqual(t, admission.Admit, d.Outcome)
				require.Equal(t, [][]string{
					nil,
					{"reserve 0", "reserve 0", "commit 0"},
					{"reserve 0", "reserve 1", "reserve 1", "commit 1", "reserve 0", "commit 0"},
				}[failing], *log)
				require.EqualValues(t, 1000, chain.Ledger.UsedOf("cpu"))
				for _, s := range all {
					require.Equal(t, map[string]int64{"a": 1000}, s.kept)
					require.Empty(t, s.unsettled)
				}

				// One that is asked again and refused is taken out, with all that it had.
				d, err = chain.Admit(t.Context(), newPod("a", resources("cpu", "1")))
				require.NoError(t, err)
				require.NotEqual(t, admission.Admit, d.Outcome)
				require.Zero(t, chain.Ledger.Pods())
				for _, s := range all {
					require.Empty(t, s.kept)
					require.Empty(t, s.unsettled)
				}
			})
		}
	}
}

// The one that gave up waiting is not the reason for a leak.
func TestReservationIsUndoneAfterTheContextEnded(t *testing.T) {
	chain, all, _ := shelves(t)
	_, err := chain.Admit(t.Context(), newPod("a", resources("cpu", "1")))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	all[2].refuse = func() (admission.Verdict, error) {
		cancel()
		return admission.Verdict{}, ctx.Err()
	}
	d, err := chain.Resize(ctx, newPod("a", resources("cpu", "2")))
	require.NoError(t, err)
	require.ErrorIs(t, d.Failures[0].Err, context.Canceled)
	require.Len(t, d.Failures, 1)
	for _, s := range all {
		require.Equal(t, map[string]int64{"a": 1000}, s.kept)
		require.Empty(t, s.unsettled)
	}
}

// The node is read once for all Reservers: one that can't be read any more keeps
// nobody from giving back.
func TestReservationIsUndoneThoughTheNodeCannotBeRead(t *testing.T) {
	chain, all, _ := shelves(t)
	node, reads := newNode(resources("pods", "10", "cpu", "8")), 4
	chain.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) {
		if reads--; reads < 0 {
			return nil, errors.New("no route")
		}
		return node, nil
	})
	_, err := chain.Admit(t.Context(), newPod("a", resources("cpu", "1")))
	require.NoError(t, err)
	require.Equal(t, 2, reads, "once for the checks, once for the Reservers")
	all[2].refuse = func() (admission.Verdict, error) { return admission.Rejected("None", "left"), nil }
	d, err := chain.Resize(t.Context(), newPod("a", resources("cpu", "2")))
	require.NoError(t, err)
	require.Equal(t, []string{"None"}, reasonsOf(d.Failures))
	for _, s := range all {
		require.Equal(t, map[string]int64{"a": 1000}, s.kept)
	}

	reads = 1
	d, err = chain.Admit(t.Context(), newPod("b", resources("cpu", "1")))
	require.NoError(t, err)
	require.Equal(t, admission.ReasonInvalidNodeInfo, d.Reason)
	require.Empty(t, all[0].unsettled)
	require.False(t, chain.Ledger.Has("b"))
}

// What can't be undone is told.
func TestReservationThatCannotBeUndoneIsTold(t *testing.T) {
	chain, all, _ := shelves(t)
	_, err := chain.Admit(t.Context(), newPod("a", resources("cpu", "1")))
	require.NoError(t, err)
	all[2].refuse = func() (admission.Verdict, error) {
		all[0].refuse = func() (admission.Verdict, error) { return admission.Verdict{}, errors.New("away") }
		return admission.Rejected("None", "left"), nil
	}
	d, err := chain.Resize(t.Context(), newPod("a", resources("cpu", "2")))
	require.NoError(t, err)
	require.Equal(t, "None", d.Reason)
	require.Equal(t, []string{"2", "0"}, []string{d.Failures[0].Name, d.Failures[1].Name})
}

// Pods of a simulation have no UIDs: what is set aside for them is given back too.
func TestReservationOfAPodWithoutUID(t *testing.T) {
	chain, all, _ := shelves(t)
	pod := newPod("", resources("cpu", "1"))
	pod.Name = "a"
	d, err := chain.Admit(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Admit, d.Outcome)
	require.True(t, chain.Remove(admission.KeyOf(pod)))
	require.Empty(t, all[0].kept)
	require.False(t, chain.Remove(admission.KeyOf(pod)))
	require.False(t, chain.Remove(""))
}

// While the node can't be read the checks that need none are asked, and only
// those that refuse are failures.
func TestFailuresWhileTheNodeCannotBeRead(t *testing.T) {
	chain := kubeletChain(nil)
	chain.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) { return nil, errors.New("no route") })
	d, err := chain.Check(t.Context(), newPod("a", nil))
	require.NoError(t, err)
	require.Len(t, d.Failures, 1)
	require.Equal(t, "Node", d.Failures[0].Name)
	e, err := chain.Explain(t.Context(), newPod("a", nil))
	require.NoError(t, err)
	require.Equal(t, admission.Admit, e.Checks[0].Outcome, "it tells of all that could be asked")
}
