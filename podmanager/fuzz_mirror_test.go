package podmanager_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// FuzzMirrors lets two static sources and the API speak in any order, late or
// never, with UIDs and names in common, while syncs and housekeeping make and
// delete mirrors. The Manager is held against plain maps after each step, and a
// source never touches what another one holds (kubernetes/kubernetes#15195,
// #112814). Once everybody has spoken, each static pod has its mirror, and no
// mirror is without a pod.
func FuzzMirrors(f *testing.F) {
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte{0, 1, 2, 6, 7, 3, 0, 9, 17, 6, 7, 8, 1, 3, 5, 6, 4, 2, 7, 3})
	f.Add([]byte{0, 255, 6, 3, 0, 0, 8, 3, 1, 255, 6, 3, 7, 8, 4, 0, 5, 200, 2, 100, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newMirrorWorld(t)
		for data = data[:min(len(data), 200)]; len(data) > 1; data = data[2:] {
			w.step(data[0], data[1])
			w.check()
		}
		w.converge()
	})
}

// mirrorWorld is a node and its API, with what follows from the updates in plain
// maps.
type mirrorWorld struct {
	*testing.T
	mux     *podmanager.Mux
	manager *podmanager.Manager
	api     *podmanagertest.MirrorClient

	wanted map[string][]*v1.Pod // what the static sources say
	shown  map[string]*v1.Pod   // mirrors of which the API has told, by full name

	pods, mirrors map[types.UID]*v1.Pod
	newest        map[string]types.UID // of the pods of a name, the one put last
	sourceOf      map[types.UID]string
}

func newMirrorWorld(t *testing.T) *mirrorWorld {
	return &mirrorWorld{
		T: t, mux: podmanager.NewMux("file", "http", "api"), manager: podmanager.NewManager(),
		api: &podmanagertest.MirrorClient{}, wanted: map[string][]*v1.Pod{}, shown: map[string]*v1.Pod{},
		pods: map[types.UID]*v1.Pod{}, mirrors: map[types.UID]*v1.Pod{}, newest: map[string]types.UID{},
		sourceOf: map[types.UID]string{},
	}
}

// mirrorNames are all full names that pods have here.
var mirrorNames = []string{"a_default", "b_default", "c_default"}

// staticPod is one of three names, four UIDs and four versions.
func staticPod(b byte) *v1.Pod {
	name := string(rune('a' + b%3))
	return pod(fmt.Sprintf("%s uid-%d img:%d", name, b>>2&3, b>>4&3),
		annotation(podmanager.AnnotationHash, fmt.Sprint("hash-", b>>4&3)))
}

func (w *mirrorWorld) step(action, b byte) {
	source := []string{"file", "http"}[b>>7]
	switch action % 9 {
	case 0: // a whole list of up to three pods, anew
		w.wanted[source] = nil
		for i := range b & 3 {
			w.wanted[source] = append(w.wanted[source], staticPod(b+i*5))
		}
		w.say(source, podmanager.OpSet, w.wanted[source]...)
	case 1:
		w.want(source, staticPod(b))
		w.say(source, podmanager.OpAdd, staticPod(b))
	case 2:
		gone := staticPod(b)
		w.wanted[source] = slices.DeleteFunc(slices.Clone(w.wanted[source]), func(p *v1.Pod) bool { return p.UID == gone.UID })
		w.say(source, podmanager.OpRemove, gone)
	case 3: // the API tells all
		w.tellAll()
	case 4: // or of one mirror alone
		w.tellOne(mirrorNames[b%3])
	case 5: // somebody deletes a mirror
		if mirror := w.api.Mirror(mirrorNames[b%3]); mirror != nil {
			_, err := w.api.DeleteMirror(w.Context(), mirror.Namespace, mirror.Name, "")
			require.NoError(w, err)
		}
	case 6:
		w.sync()
	case 7:
		w.clean()
	case 8: // a checkpoint is read
		w.say(source, podmanager.OpRestore, staticPod(b))
	}
}

// want keeps a pod in the wishes of a source, as the Mux takes deltas.
func (w *mirrorWorld) want(source string, pod *v1.Pod) {
	list := slices.DeleteFunc(slices.Clone(w.wanted[source]), func(p *v1.Pod) bool {
		return p.UID == pod.UID || podmanager.FullName(p) == podmanager.FullName(pod)
	})
	w.wanted[source] = append(list, pod)
}

// say merges one word, and follows what comes of it.
func (w *mirrorWorld) say(source string, op podmanager.Op, list ...*v1.Pod) {
	out, err := w.mux.Merge(source, op, list, now)
	require.NoError(w, err)
	released := map[types.UID]bool{}
	for _, u := range out.Updates {
		for _, p := range u.Pods {
			if u.Op == podmanager.OpRemove {
				require.Equal(w, source, u.Source, "a source removes its own alone")
				require.Equal(w, source, w.sourceOf[p.UID])
				released[p.UID] = true
				w.forget(p)
				w.manager.Remove(p.UID)
				continue
			}
			if u.Source != source {
				require.Equal(w, podmanager.OpAdd, u.Op)
				require.True(w, released[p.UID], "another source gets what this one let go of, and nothing else")
			}
			w.keep(u.Source, p)
			w.manager.Put(p)
		}
	}
}

func (w *mirrorWorld) keep(source string, p *v1.Pod) {
	w.forget(w.pods[p.UID])
	w.forget(w.mirrors[p.UID])
	w.sourceOf[p.UID] = source
	if podmanager.IsMirror(p) {
		w.mirrors[p.UID] = p
		return
	}
	w.pods[p.UID] = p
	w.newest[podmanager.FullName(p)] = p.UID
}

func (w *mirrorWorld) forget(p *v1.Pod) {
	if p == nil {
		return
	}
	delete(w.pods, p.UID)
	delete(w.mirrors, p.UID)
	delete(w.sourceOf, p.UID)
}

// tellAll has the API's source say all mirrors that there are.
func (w *mirrorWorld) tellAll() {
	clear(w.shown)
	var list []*v1.Pod
	for _, name := range mirrorNames {
		if mirror := w.api.Mirror(name); mirror != nil {
			w.shown[name] = mirror
			list = append(list, mirror)
		}
	}
	w.say("api", podmanager.OpSet, list...)
}

func (w *mirrorWorld) tellOne(name string) {
	mirror, shown := w.api.Mirror(name), w.shown[name]
	switch {
	case mirror != nil:
		w.shown[name] = mirror
		w.say("api", podmanager.OpAdd, mirror)
	case shown != nil:
		delete(w.shown, name)
		w.say("api", podmanager.OpRemove, shown)
	}
}

// sync reconciles the mirror of each name's pod, by what is known of it.
func (w *mirrorWorld) sync() {
	for _, name := range mirrorNames {
		if p := w.manager.PodByFullName(name); p != nil {
			// It may fail for what is not known yet; the next sync repeats it.
			_ = podmanager.ReconcileMirror(w.Context(), w.api, p, w.manager.MirrorByFullName(name), node())
		}
	}
}

// clean deletes orphaned mirrors, once every source was heard.
func (w *mirrorWorld) clean() {
	if !w.mux.AllSeen() {
		return
	}
	for _, name := range w.manager.OrphanedMirrors() {
		mirror := w.manager.MirrorByFullName(name)
		_, err := w.api.DeleteMirror(w.Context(), mirror.Namespace, mirror.Name, "")
		require.NoError(w, err)
	}
}

// check holds the Manager against the maps.
func (w *mirrorWorld) check() {
	require.Equal(w, len(w.pods), w.manager.Len())
	require.Len(w, w.manager.Pods(), len(w.pods))
	named := map[string]bool{}
	for uid, p := range w.pods {
		require.Same(w, p, w.manager.Pod(uid))
		require.Nil(w, w.manager.Mirror(uid))
		require.Equal(w, uid, w.manager.TranslateUID(uid))
		named[podmanager.FullName(p)] = true
	}
	var orphans []string
	for uid, mirror := range w.mirrors {
		require.Same(w, mirror, w.manager.Mirror(uid))
		require.Nil(w, w.manager.Pod(uid))
		name := podmanager.FullName(mirror)
		if !named[name] {
			orphans = append(orphans, name)
			require.Equal(w, uid, w.manager.TranslateUID(uid))
			continue
		}
		require.Equal(w, w.manager.PodByFullName(name).UID, w.manager.TranslateUID(uid))
	}
	slices.Sort(orphans)
	require.Equal(w, slices.Compact(orphans), w.manager.OrphanedMirrors())
	for _, name := range mirrorNames {
		p := w.manager.PodByFullName(name)
		require.Equal(w, named[name], p != nil)
		if newest := w.pods[w.newest[name]]; newest != nil && podmanager.FullName(newest) == name {
			require.Same(w, newest, p, "of several pods of a name it is the newest word")
		}
	}
}

// converge lets everybody speak, and sees that the mirrors are what they should.
func (w *mirrorWorld) converge() {
	for _, source := range []string{"http", "file"} {
		w.say(source, podmanager.OpSet, w.wanted[source]...)
		w.check()
	}
	for range 4 {
		w.tellAll()
		w.sync()
		w.clean()
		w.check()
	}
	w.tellAll()
	held := map[types.UID]bool{}
	for _, source := range []string{"file", "http"} {
		for _, p := range w.wanted[source] {
			held[p.UID] = true
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		require.True(w, held[uid], "pod %s is wanted by nobody", uid)
	}
	require.Empty(w, w.manager.OrphanedMirrors())
	for _, name := range mirrorNames {
		p, mirror := w.manager.PodByFullName(name), w.manager.MirrorByFullName(name)
		if p == nil {
			require.Nil(w, w.api.Mirror(name))
			continue
		}
		require.NotNil(w, mirror, name)
		require.True(w, podmanager.IsMirrorOf(mirror, p))
		require.Equal(w, p.UID, w.manager.TranslateUID(mirror.UID))
	}
}
