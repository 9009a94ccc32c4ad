package podmanager_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

var now = time.Date(2030, 1, 2, 3, 0, 0, 42, time.UTC)

// pod makes a pod out of "name uid image", of which the UID defaults to
// "uid-<name>" and the image to "img:1"; changes are applied in the end.
func pod(spec string, changes ...func(*v1.Pod)) *v1.Pod {
	words := append(strings.Fields(spec), "", "")
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: words[0], UID: types.UID(words[1])},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: words[2]}}},
	}
	if words[1] == "" {
		p.UID = types.UID("uid-" + p.Name)
	}
	if words[2] == "" {
		p.Spec.Containers[0].Image = "img:1"
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func pods(list ...*v1.Pod) []*v1.Pod { return list }

func version(rv string) func(*v1.Pod) { return func(p *v1.Pod) { p.ResourceVersion = rv } }
func phase(ph v1.PodPhase) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Status.Phase = ph }
}
func annotation(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}
func deleting(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

// words puts updates into words: "file ADD a b; file REMOVE c".
func words(updates []podmanager.Update) string {
	var all []string
	for _, u := range updates {
		line := u.Source + " " + string(u.Op)
		for _, p := range u.Pods {
			line += " " + p.Name
			if p.UID != types.UID("uid-"+p.Name) {
				line += "(" + string(p.UID) + ")"
			}
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

// step is one merge, and what must come of it.
type step struct {
	source string
	op     podmanager.Op
	pods   []*v1.Pod
	want   string
	events []string
}

func TestMux(t *testing.T) {
	const set, add, update, remove, restore = podmanager.OpSet, podmanager.OpAdd, podmanager.OpUpdate, podmanager.OpRemove, podmanager.OpRestore
	same := pod("same")
	for name, steps := range map[string][]step{
		"a first list that brings nothing still says that the source lives": {
			{"file", set, nil, "file ADD", nil},
			{"file", set, nil, "", nil},
		},
		"everything at once, in the kubelet's order": {
			{"api", set, pods(pod("gone"), pod("changed"), pod("deleted"), pod("status"), pod("same")), "api ADD gone changed deleted status same", nil},
			{"api", set, pods(pod("status", phase(v1.PodRunning)), pod("deleted", deleting), pod("changed uid-changed img:2"), pod("new"), pod("same")),
				"api REMOVE gone; api ADD new; api UPDATE changed; api DELETE deleted; api RECONCILE status", nil},
		},
		"a new pod that is being deleted is an addition": {
			{"api", set, pods(pod("a", deleting)), "api ADD a", nil},
		},
		"a spec and a status that changed are one update": {
			{"api", set, pods(pod("a")), "api ADD a", nil},
			{"api", set, pods(pod("a uid-a img:2", phase(v1.PodRunning))), "api UPDATE a", nil},
		},
		"a name with a new UID is another pod": {
			{"api", set, pods(pod("a 1")), "api ADD a(1)", nil},
			{"api", set, pods(pod("a 2")), "api REMOVE a(1); api ADD a(2)", nil},
		},
		"a UID with a new name is another pod": {
			{"file", set, pods(pod("a 1"), pod("b 2")), "file ADD a(1) b(2)", nil},
			{"file", set, pods(pod("b 1"), pod("c 2")), "file REMOVE a(1) b(2); file ADD b(1) c(2)", nil},
		},
		"of a list the first of a name counts": {
			{"api", set, pods(pod("a 1"), pod("a 2"), pod("a 3")), "api ADD a(1)", []string{
				`Error validating pod a_default(2) from api due to duplicate pod name "a", ignoring`,
				`Error validating pod a_default(3) from api due to duplicate pod name "a", ignoring`,
			}},
		},
		"of a list the first of a UID counts": {
			{"api", set, pods(pod("a 1"), pod("b 1")), "api ADD a(1)", []string{
				`Error validating pod b_default(1) from api due to duplicate pod UID "1", ignoring`,
			}},
		},
		"no UID, no pod": {
			{"api", set, pods(nil, pod("a", func(p *v1.Pod) { p.UID = "" }), pod("b")), "api ADD b", []string{
				"Error validating pod a_default() from api due to missing pod UID, ignoring",
			}},
			{"api", add, pods(nil), "", nil},
			{"api", remove, pods(nil, pod("x")), "", nil},
			{"api", restore, pods(nil), "", nil},
		},
		"owners, finalizers and generation don't matter": {
			{"api", set, pods(pod("a", version("1"))), "api ADD a", nil},
			{"api", set, pods(pod("a", version("2"), func(p *v1.Pod) { p.Generation, p.Finalizers = 2, []string{"f"} })), "", nil},
		},
		"the node's own annotations don't matter": {
			{"api", set, pods(pod("a", annotation("note", "1"))), "api ADD a", nil},
			{"api", set, pods(pod("a", annotation("note", "1"), annotation(podmanager.AnnotationSource, "file"), annotation(podmanager.AnnotationSeen, "x"))), "", nil},
			{"api", set, pods(pod("a", annotation("note", "2"))), "api UPDATE a", nil},
			{"api", set, pods(pod("a")), "api UPDATE a", nil},
		},
		"an equal resourceVersion is an equal pod, an empty one says nothing": {
			{"api", set, pods(pod("a", version("1")), pod("b")), "api ADD a b", nil},
			{"api", set, pods(pod("a uid-a img:2", version("1")), pod("b uid-b img:2")), "api UPDATE b", nil},
		},
		"an equal content hash is an equal static pod, but not an equal mirror": {
			{"file", set, pods(pod("a", annotation(podmanager.AnnotationHash, "h"))), "file ADD a", nil},
			{"file", set, pods(pod("a uid-a img:2", annotation(podmanager.AnnotationHash, "h"))), "", nil},
			{"api", set, pods(pod("m", annotation(podmanager.AnnotationHash, "h"))), "api ADD m", nil},
			{"api", set, pods(pod("m", annotation(podmanager.AnnotationHash, "h"), phase(v1.PodRunning))), "api RECONCILE m", nil},
		},
		"the same object is not looked into": {
			{"http", set, pods(same), "http ADD same", nil},
			{"http", set, pods(same), "", nil},
		},
		"deltas": {
			{"api", set, nil, "api ADD", nil},
			{"api", add, pods(pod("a"), pod("b")), "api ADD a b", nil},
			{"api", update, pods(pod("a uid-a img:2"), pod("c")), "api ADD c; api UPDATE a", nil},
			{"api", add, pods(pod("b")), "", nil},
			{"api", update, pods(pod("b", deleting)), "api DELETE b", nil},
			{"api", update, pods(pod("c", phase(v1.PodRunning))), "api RECONCILE c", nil},
			{"api", remove, pods(pod("c"), pod("a")), "api REMOVE a c", nil},
			{"api", remove, pods(pod("a")), "", nil},
			{"api", set, pods(pod("b", deleting)), "", nil},
		},
		"the last delta about a name counts": {
			{"api", set, pods(pod("a 1")), "api ADD a(1)", nil},
			{"api", add, pods(pod("a 2"), pod("a 3")), "api REMOVE a(1); api ADD a(3)", nil},
			{"api", remove, pods(pod("a 1")), "", nil},
		},
		"a source's first list confirms, changes or removes what was restored": {
			{"api", restore, pods(pod("kept"), pod("changed"), pod("gone")), "api RESTORE kept changed gone", nil},
			{"api", restore, pods(pod("kept")), "", nil},
			{"api", set, pods(pod("kept"), pod("changed uid-changed img:2"), pod("new")), "api REMOVE gone; api ADD new; api UPDATE changed", nil},
			{"api", restore, pods(pod("gone")), "", nil},
		},
		"a first list that equals what was restored is heard all the same": {
			{"api", restore, pods(pod("a")), "api RESTORE a", nil},
			{"api", set, pods(pod("a")), "api ADD", nil},
		},
		"sources are independent": {
			{"file", set, pods(pod("a 1")), "file ADD a(1)", nil},
			{"api", set, pods(pod("a 2")), "api ADD a(2)", nil},
			{"file", set, nil, "file REMOVE a(1)", nil},
		},
		"a UID belongs to the source that had it first, until it lets go": {
			{"file", set, pods(pod("a 1")), "file ADD a(1)", nil},
			{"http", set, pods(pod("b 1"), pod("c 2")), "http ADD c(2)", []string{
				`Error validating pod b_default(1) from http due to duplicate pod UID "1", which source file has, ignoring`,
			}},
			{"file", set, nil, "file REMOVE a(1); http ADD b(1)", nil},
			{"file", add, pods(pod("a 1")), "", []string{
				`Error validating pod a_default(1) from file due to duplicate pod UID "1", which source http has, ignoring`,
			}},
			{"file", remove, pods(pod("a 1")), "", nil},
			{"http", remove, pods(pod("b 1")), "http REMOVE b(1)", nil},
		},
		"a refused pod that its source replaced stays refused": {
			{"file", set, pods(pod("a 1")), "file ADD a(1)", nil},
			{"http", add, pods(pod("b 1")), "", []string{
				`Error validating pod b_default(1) from http due to duplicate pod UID "1", which source file has, ignoring`,
			}},
			{"http", add, pods(pod("b 2")), "http ADD b(2)", nil},
			{"file", set, nil, "file REMOVE a(1)", nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := podmanager.NewMux("file", "http", "api")
			for i, s := range steps {
				out, err := m.Merge(s.source, s.op, s.pods, now)
				require.NoError(t, err)
				require.Equal(t, s.want, words(out.Updates), "step %d", i)
				var events []string
				for _, e := range out.Events {
					require.Equal(t, "Warning FailedValidation", e.Type+" "+e.Reason)
					events = append(events, e.Message)
				}
				require.Equal(t, s.events, events, "step %d", i)
			}
		})
	}
}

// A wrong call is an error value, and changes nothing.
func TestMuxWrongCalls(t *testing.T) {
	m := podmanager.NewMux("file", "", "file")
	require.Equal(t, []string{"file"}, m.Sources())
	_, err := m.Merge("nobody", podmanager.OpSet, pods(pod("a")), now)
	require.ErrorIs(t, err, podmanager.ErrUnknownSource)
	require.ErrorContains(t, err, `"nobody"`)
	for _, op := range []podmanager.Op{"", "PURGE", podmanager.OpDelete, podmanager.OpReconcile} {
		_, err = m.Merge("file", op, pods(pod("a")), now)
		require.ErrorIs(t, err, podmanager.ErrUnknownOp)
	}
	require.False(t, m.Seen("file"))
	require.Zero(t, m.Len("file"))
	require.Zero(t, m.Len("nobody"))
}

// kubernetes/kubernetes#15195: readiness is a matter of each source, and of its
// whole list: neither deltas nor a checkpoint nor another source make it.
func TestKubernetes15195SourcesAreIndependent(t *testing.T) {
	m := podmanager.NewMux()
	require.True(t, m.AllSeen(), "no source, nothing to wait for")
	m.Register("api")
	m.Register("file")
	for _, op := range []podmanager.Op{podmanager.OpRestore, podmanager.OpAdd, podmanager.OpRemove} {
		_, err := m.Merge("api", op, pods(pod("a")), now)
		require.NoError(t, err)
		require.False(t, m.Seen("api"), op)
	}
	_, err := m.Merge("api", podmanager.OpSet, nil, now)
	require.NoError(t, err)
	require.True(t, m.Seen("api"))
	require.False(t, m.Seen("file"))
	require.False(t, m.Seen("nobody"))
	require.False(t, m.AllSeen())
	_, err = m.Merge("file", podmanager.OpSet, nil, now)
	require.NoError(t, err)
	require.True(t, m.AllSeen())
}

// The Mux writes neither to the pods that it gets nor to those that it handed
// out: both are read by others.
func TestMuxWritesToNoPod(t *testing.T) {
	m := podmanager.NewMux("file")
	in := pod("a", annotation("note", "1"))
	before := in.DeepCopy()
	first := merge(t, m, "file", podmanager.OpSet, in)[0].Pods[0]
	handedOut := first.DeepCopy()
	merge(t, m, "file", podmanager.OpSet, pod("a uid-a img:2", annotation("note", "2")))
	merge(t, m, "file", podmanager.OpSet)
	require.Equal(t, before, in)
	require.Equal(t, handedOut, first)
}

func merge(t *testing.T, m *podmanager.Mux, source string, op podmanager.Op, list ...*v1.Pod) []podmanager.Update {
	t.Helper()
	out, err := m.Merge(source, op, list, now)
	require.NoError(t, err)
	return out.Updates
}

// The node's annotations: the source is the Mux's word, the first-seen time
// survives updates and restarts, and a mirror's hash stays as it was first.
func TestMuxAnnotations(t *testing.T) {
	m := podmanager.NewMux("file", "api")
	added := merge(t, m, "api", podmanager.OpSet, pod("a", annotation(podmanager.AnnotationSource, "file"), annotation(podmanager.AnnotationMirror, "h1")))[0].Pods[0]
	require.Equal(t, map[string]string{
		podmanager.AnnotationSource: "api",
		podmanager.AnnotationSeen:   "2030-01-02T03:00:00.000000042Z",
		podmanager.AnnotationMirror: "h1",
	}, added.Annotations)

	out, err := m.Merge("api", podmanager.OpUpdate, pods(pod("a uid-a img:2", annotation(podmanager.AnnotationMirror, "h2"), version("7"))), now.Add(time.Hour))
	require.NoError(t, err)
	updated := out.Updates[0].Pods[0]
	require.Equal(t, added.Annotations, updated.Annotations)
	require.Equal(t, "img:2", updated.Spec.Containers[0].Image)
	require.Equal(t, "7", updated.ResourceVersion)

	restored := merge(t, m, "file", podmanager.OpRestore, pod("b", annotation(podmanager.AnnotationSeen, "2029-12-31T00:00:00.000000000Z")))[0].Pods[0]
	require.Equal(t, "2029-12-31T00:00:00.000000000Z", restored.Annotations[podmanager.AnnotationSeen])
	require.Equal(t, "file", restored.Annotations[podmanager.AnnotationSource])
}

// What goes out for a removed pod is the newest that was known of it.
func TestMuxRemovesTheNewest(t *testing.T) {
	m := podmanager.NewMux("api")
	merge(t, m, "api", podmanager.OpSet, pod("a"))
	merge(t, m, "api", podmanager.OpUpdate, pod("a uid-a img:2"))
	merge(t, m, "api", podmanager.OpUpdate, pod("a uid-a img:2", version("9")))
	gone := merge(t, m, "api", podmanager.OpRemove, pod("a"))[0].Pods[0]
	require.Equal(t, "img:2 9", fmt.Sprint(gone.Spec.Containers[0].Image, " ", gone.ResourceVersion))
}
