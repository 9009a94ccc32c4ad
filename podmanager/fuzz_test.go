package podmanager_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// FuzzMux says all kinds of words to a Mux, three bytes a pod, and holds it
// against a plain model: what follows all updates knows exactly the pods that
// the sources want.
func FuzzMux(f *testing.F) {
	f.Add([]byte("s12s13s1"))
	f.Add([]byte{0, 1, 1, 2, 3, 1, 1, 1, 9, 8, 7, 2, 3, 3})
	f.Add([]byte{4, 2, 17, 5, 33, 2, 2, 5, 0, 0, 0, 4, 1, 1, 1})
	f.Add([]byte{0, 3, 16, 16, 16, 64, 2, 16, 1, 64, 1, 1, 0, 0, 128, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 300)]
		sources := []string{"file", "http", "api"}
		m := podmanager.NewMux(sources...)
		follower := newFollower(sources)
		for len(data) > 1 {
			var w fuzzWord
			w, data = readWord(data)
			before := m.Seen(w.source)
			out, err := m.Merge(w.source, w.op, w.pods, now)
			if w.op == "PURGE" {
				require.ErrorIs(t, err, podmanager.ErrUnknownOp)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, before || w.op == podmanager.OpSet, m.Seen(w.source), "only a list makes a source heard")
			if w.op == podmanager.OpSet && !before {
				require.NotEmpty(t, out.Updates, "a first list is always heard of")
			}
			follower.follow(t, out.Updates)
			if w.op == podmanager.OpSet {
				follower.compare(t, w)
			}
			for _, source := range sources {
				require.Len(t, follower.pods[source], m.Len(source))
			}
		}
	})
}

type fuzzWord struct {
	source string
	op     podmanager.Op
	pods   []*v1.Pod
}

var fuzzOps = []podmanager.Op{
	podmanager.OpSet, podmanager.OpSet, podmanager.OpAdd, podmanager.OpUpdate, podmanager.OpRemove, podmanager.OpRestore, "PURGE",
}

// readWord makes a word of some bytes: one for source and operation, one for the
// number of pods, one for each pod.
func readWord(data []byte) (fuzzWord, []byte) {
	kind, n := data[0], int(data[1]%8)
	data = data[2:]
	w := fuzzWord{source: []string{"file", "http", "api"}[kind%3], op: fuzzOps[int(kind/3)%len(fuzzOps)]}
	for range min(n, len(data)) {
		w.pods = append(w.pods, fuzzPod(data[0]))
		data = data[1:]
	}
	return w, data
}

// fuzzPod is one of few pods: four names, eight UIDs, and so many versions.
func fuzzPod(b byte) *v1.Pod {
	if b == 255 {
		return nil
	}
	p := pod(fmt.Sprintf("pod-%d uid-%d img:%d", b&3, (b>>1)&7, b>>6))
	switch b >> 5 {
	case 1:
		p.ResourceVersion = "1"
	case 2:
		p.UID = types.UID("uid-" + p.Name)
	case 3:
		p.Status.Phase = v1.PodRunning
	case 4:
		deleting(p)
	case 5:
		p.UID = ""
	}
	return p
}

// follower knows of the pods what the updates say.
type follower struct {
	pods   map[string]map[types.UID]*v1.Pod
	owners map[types.UID]string
}

func newFollower(sources []string) *follower {
	f := &follower{pods: map[string]map[types.UID]*v1.Pod{}, owners: map[types.UID]string{}}
	for _, s := range sources {
		f.pods[s] = map[types.UID]*v1.Pod{}
	}
	return f
}

func (f *follower) follow(t *testing.T, updates []podmanager.Update) {
	for _, u := range updates {
		known := f.pods[u.Source]
		for _, p := range u.Pods {
			require.Equal(t, u.Source, p.Annotations[podmanager.AnnotationSource])
			switch u.Op {
			case podmanager.OpAdd, podmanager.OpRestore:
				require.NotContains(t, known, p.UID, "added twice")
				require.NotContains(t, f.owners, p.UID, "two sources have one UID")
				known[p.UID], f.owners[p.UID] = p, u.Source
			case podmanager.OpUpdate, podmanager.OpDelete, podmanager.OpReconcile:
				require.Contains(t, known, p.UID, "%s of an unknown pod", u.Op)
				known[p.UID] = p
			case podmanager.OpRemove:
				require.Contains(t, known, p.UID, "an unknown pod removed")
				delete(known, p.UID)
				delete(f.owners, p.UID)
			default:
				t.Fatalf("the Mux does not say %s", u.Op)
			}
		}
	}
}

// compare holds the pods of a source against its last list.
func (f *follower) compare(t *testing.T, w fuzzWord) {
	wanted := map[types.UID]*v1.Pod{}
	names, uids := map[string]bool{}, map[types.UID]bool{}
	for _, p := range w.pods {
		if p == nil || p.UID == "" || names[p.Name] || uids[p.UID] {
			continue
		}
		names[p.Name], uids[p.UID] = true, true
		if f.owners[p.UID] == w.source {
			wanted[p.UID] = p
		} else {
			require.Contains(t, f.owners, p.UID, "a pod that nobody else has was not added")
		}
	}
	known := f.pods[w.source]
	require.Len(t, known, len(wanted))
	for uid, p := range wanted {
		require.Contains(t, known, uid)
		require.Equal(t, p.Name, known[uid].Name)
		if p.ResourceVersion == "" {
			require.Equal(t, p.Spec, known[uid].Spec)
			require.Equal(t, p.Status, known[uid].Status)
			require.Equal(t, p.DeletionTimestamp, known[uid].DeletionTimestamp)
		}
	}
}
