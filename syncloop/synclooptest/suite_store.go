package synclooptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// OpenStore opens the store of one place, a file or a table, with what is in
// it, as each agent does that starts there.
type OpenStore func() (syncloop.Store, error)

// TestStore checks each rule of a [syncloop.Store] in a subtest. For each it
// takes a new, empty place, and opens that more than once: first it closes the
// store that is open there, if that is an io.Closer.
func TestStore(t *testing.T, place func(t *testing.T) OpenStore) {
	t.Helper()
	storeRules.Test(t, func(t *testing.T) conformance.Open[*storeDesk] { return openDesk(place(t)) }, conformance.Options{})
}

// RuleError is a rule that an implementation breaks: its Name and Text, and how, Err.
// The errors of the suites join one for each.
type RuleError = conformance.RuleError

// CheckStore is [TestStore] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckStore(ctx context.Context, place func() OpenStore) error {
	return storeRules.Check(ctx, func(ctx context.Context) (*storeDesk, func() error, error) {
		return openDesk(place())(ctx)
	}, conformance.Options{})
}

var storeRules = conformance.Rules[*storeDesk]{
	{Name: "empty", Text: "a new place holds no records, and that is no error", Check: checkStoreEmpty},
	{Name: "durable", Text: "what was committed is there when the place is opened again", Check: checkStoreDurable},
	{Name: "as-it-was", Text: "a record comes back as it was, whatever its texts are; times of its Status to the second", Check: checkStoreAsItWas},
	{Name: "replace", Text: "a record takes the place of the last one of its UID, whole; the same one again changes nothing", Check: checkStoreReplace},
	{Name: "delete", Text: "what is deleted does not come back, and what is not there can be deleted", Check: checkStoreDelete},
	{Name: "batch", Text: "a batch is committed as a whole, or there is an error; then the same batch can be committed again", Check: checkStoreBatch},
	{Name: "read-only", Text: "a store writes to nothing that it is given", Check: checkStoreReadOnly},
	{Name: "context", Text: "a call returns soon after its context ends", Check: checkStoreContext},
}

// storeDesk is a place, and the store that is open there.
type storeDesk struct {
	open  OpenStore
	store syncloop.Store
}

func openDesk(open OpenStore) conformance.Open[*storeDesk] {
	return func(ctx context.Context) (*storeDesk, func() error, error) {
		d := &storeDesk{open: open}
		return d, nil, d.reopen(ctx)
	}
}

// reopen begins anew, as the next agent would: it loads first.
func (d *storeDesk) reopen(ctx context.Context) error {
	if c, ok := d.store.(io.Closer); ok {
		if err := c.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
	store, err := d.open()
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	d.store = store
	_, err = d.load(ctx)
	return err
}

func (d *storeDesk) commit(ctx context.Context, b syncloop.Batch) error {
	if err := d.store.Commit(ctx, b); err != nil {
		return fmt.Errorf("Commit: %w", err)
	}
	return nil
}

func (d *storeDesk) load(ctx context.Context) (map[types.UID]string, error) {
	list, err := d.store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("Load: %w", err)
	}
	records := map[types.UID]string{}
	for _, r := range list {
		if _, twice := records[r.UID]; twice {
			return nil, fmt.Errorf("Load: record %q is there twice", r.UID)
		}
		records[r.UID] = inJSON(r)
	}
	return records, nil
}

// holds tells whether the place, opened again, holds these records and no others.
func (d *storeDesk) holds(ctx context.Context, want ...syncloop.Record) error {
	if err := d.reopen(ctx); err != nil {
		return err
	}
	have, err := d.load(ctx)
	if err != nil {
		return err
	}
	for _, r := range want {
		text, ok := have[r.UID]
		if !ok {
			return fmt.Errorf("record %q is not there", r.UID)
		}
		if text != inJSON(r) {
			return fmt.Errorf("record %q is\n\t%s, not\n\t%s", r.UID, text, inJSON(r))
		}
		delete(have, r.UID)
	}
	for _, uid := range slices.Sorted(maps.Keys(have)) {
		return fmt.Errorf("record %q should not be there", uid)
	}
	return nil
}

// inJSON is a record as text, the same wherever its times are told.
func inJSON(r syncloop.Record) string {
	r.TerminatingSince = r.TerminatingSince.UTC()
	text, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// storedRecord is a record with all that there can be in one.
func storedRecord(uid types.UID, version uint64) syncloop.Record {
	began := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)
	return syncloop.Record{
		UID: uid, Namespace: "default", Name: "web", Source: "file",
		Admitted: true,
		Allocated: &resize.Allocation{
			Containers: map[string]v1.ResourceRequirements{"web": {Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}}},
			Pod:        &v1.ResourceRequirements{},
		},
		Takes: &syncloop.Takes{
			Requests:  admission.Requests{MilliCPU: 250, Memory: 1 << 30, Scalar: map[v1.ResourceName]int64{"example.com/gpu": 2}},
			HostPorts: []v1.ContainerPort{{HostPort: 80, Protocol: v1.ProtocolTCP}},
		},
		Verdict:          &podstatus.Verdict{Reason: "Evicted", Message: "the node was low on memory", Disruption: "low"},
		TerminatingSince: began.Add(time.Hour + 123456789*time.Nanosecond),
		Grace:            1500 * time.Millisecond,
		Status: &v1.PodStatus{
			Phase:     v1.PodRunning,
			StartTime: &metav1.Time{Time: began},
			ContainerStatuses: []v1.ContainerStatus{{
				Name: "main", RestartCount: 3,
				State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
					ExitCode: -1, Message: "a line\n\tand \"another\" <&> \u2028 ünïcode", FinishedAt: metav1.Time{Time: began},
				}},
			}},
		},
		Version: version,
	}
}

func saving(records ...syncloop.Record) syncloop.Batch { return syncloop.Batch{Save: records} }

func checkStoreEmpty(ctx context.Context, d *storeDesk) error {
	return errors.Join(d.commit(ctx, syncloop.Batch{}), d.holds(ctx))
}

func checkStoreDurable(ctx context.Context, d *storeDesk) error {
	a, b := storedRecord("a", 1), storedRecord("b", 2)
	return errors.Join(
		d.commit(ctx, saving(a)),
		d.holds(ctx, a),
		d.commit(ctx, saving(b)), // by the second agent, which loaded a
		d.holds(ctx, a, b),
		d.holds(ctx, a, b),
	)
}

func checkStoreAsItWas(ctx context.Context, d *storeDesk) error {
	records := []syncloop.Record{
		{UID: "bare"},
		storedRecord("full", 1<<63+1), // more than a float64 can hold
		storedRecord("../a path/\x01\"%2e\\", 1),
		storedRecord("UPPER", 1), storedRecord("upper", 2),
	}
	return errors.Join(d.commit(ctx, saving(records...)), d.holds(ctx, records...))
}

func checkStoreReplace(ctx context.Context, d *storeDesk) error {
	first, other := storedRecord("a", 1), storedRecord("b", 1)
	second := syncloop.Record{UID: "a", Name: "web", Version: 2}
	return errors.Join(
		d.commit(ctx, saving(first, other)),
		d.commit(ctx, saving(second)),
		d.holds(ctx, second, other),
		d.commit(ctx, saving(second)),
		d.commit(ctx, saving(second)),
		d.holds(ctx, second, other),
	)
}

func checkStoreDelete(ctx context.Context, d *storeDesk) error {
	a, b, c := storedRecord("a", 1), storedRecord("b", 1), storedRecord("c", 1)
	deleting := syncloop.Batch{Delete: []types.UID{"a", "never was"}, Save: []syncloop.Record{c}}
	return errors.Join(
		d.commit(ctx, saving(a, b)),
		d.commit(ctx, deleting),
		d.holds(ctx, b, c),
		d.commit(ctx, deleting),
		d.holds(ctx, b, c),
		d.commit(ctx, saving(a)), // a pod may come again
		d.holds(ctx, a, b, c),
		d.commit(ctx, syncloop.Batch{Delete: []types.UID{"a", "b", "c"}}),
		d.holds(ctx),
	)
}

func checkStoreBatch(ctx context.Context, d *storeDesk) error {
	const many = 500
	var old, replaced []syncloop.Record
	next := syncloop.Batch{}
	for i := range many {
		r := storedRecord(types.UID(fmt.Sprintf("pod-%d", i)), 1)
		old = append(old, r)
		if i%2 == 0 {
			next.Delete = append(next.Delete, r.UID)
			continue
		}
		r.Version = 2
		replaced = append(replaced, r)
	}
	next.Save = replaced
	if err := errors.Join(d.commit(ctx, saving(old...)), d.holds(ctx, old...)); err != nil {
		return err
	}
	ended, end := context.WithCancel(ctx)
	end()
	if err := d.store.Commit(ended, next); err == nil {
		if err := d.holds(ctx, replaced...); err != nil {
			return fmt.Errorf("Commit gave no error although its context had ended, but %w", err)
		}
	}
	return errors.Join(d.commit(ctx, next), d.holds(ctx, replaced...))
}

func checkStoreReadOnly(ctx context.Context, d *storeDesk) error {
	given := []syncloop.Record{storedRecord("c", 1), storedRecord("a", 1), storedRecord("b", 1)}
	before := inJSONAll(given)
	if err := d.commit(ctx, saving(given...)); err != nil {
		return err
	}
	if err := d.commit(ctx, saving(storedRecord("a", 2))); err != nil {
		return err
	}
	if _, err := d.load(ctx); err != nil {
		return err
	}
	if !slices.Equal(before, inJSONAll(given)) {
		return errors.New("what was given to Commit has changed since")
	}
	return nil
}

func inJSONAll(records []syncloop.Record) []string {
	var texts []string
	for _, r := range records {
		texts = append(texts, inJSON(r))
	}
	return texts
}

func checkStoreContext(ctx context.Context, d *storeDesk) error {
	ended, end := context.WithCancel(ctx)
	end()
	// Either answer will do, if it comes.
	_, _ = d.store.Load(ended)
	_ = d.store.Commit(ended, saving(storedRecord("a", 1)))
	return nil
}
