package podmanager

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Manager is the store of desired pods: those that shall run, and the mirror
// pods that show static ones in the API. It does not know what runs: a pod that
// was removed here may still be stopping.
//
// A static pod and its mirror belong together by their full name alone,
// whichever comes first and whatever they hold. Users see the mirror's UID, so
// lookups on their behalf begin with TranslateUID.
//
// All methods are safe for concurrent use. Pods are handed out as pointers,
// and are read-only. A lookup costs the same however many pods there are.
type Manager struct {
	mu      sync.RWMutex
	pods    index
	mirrors index
	// orphans are the full names with a mirror and without a pod.
	orphans map[string]struct{}
	// list is what Pods returned last, nil when it is out of date.
	list []*v1.Pod
}

// index finds pods of one kind.
type index struct {
	byUID map[types.UID]*v1.Pod
	// byName has the pods of a full name, the newest word last. There is more
	// than one for moments, or when two sources name one pod.
	byName map[string][]*v1.Pod
}

// NewManager returns an empty Manager.
func NewManager() *Manager {
	return &Manager{pods: newIndex(), mirrors: newIndex(), orphans: map[string]struct{}{}}
}

// Put stores a pod or mirror pod, new or in the place of one with its UID.
func (m *Manager) Put(pod *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(pod.UID)
	m.kind(pod).put(pod)
	m.changed(FullName(pod))
}

// Remove forgets the pod or mirror pod of this UID; an unknown one is ignored.
// Another pod of the same full name stays.
func (m *Manager) Remove(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(uid)
}

func (m *Manager) kind(pod *v1.Pod) *index {
	if IsMirror(pod) {
		return &m.mirrors
	}
	return &m.pods
}

func (m *Manager) drop(uid types.UID) {
	for _, kind := range []*index{&m.pods, &m.mirrors} {
		if old := kind.drop(uid); old != nil {
			m.changed(FullName(old))
		}
	}
}

// changed brings up to date what is derived from the pods of a full name.
func (m *Manager) changed(name string) {
	m.list = nil
	if m.mirrors.named(name) != nil && m.pods.named(name) == nil {
		m.orphans[name] = struct{}{}
	} else {
		delete(m.orphans, name)
	}
}

// Pods returns all pods but mirrors, in no order. The slice is shared and
// read-only; it is made anew only after a change.
func (m *Manager) Pods() []*v1.Pod {
	m.mu.RLock()
	list := m.list
	m.mu.RUnlock()
	if list != nil {
		return list
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.list == nil {
		m.list = slices.AppendSeq(make([]*v1.Pod, 0, len(m.pods.byUID)), maps.Values(m.pods.byUID))
	}
	return m.list
}

// Len returns how many pods there are, without mirrors.
func (m *Manager) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.pods.byUID)
}

// Pod returns the pod of a UID, or nil. It does not find mirrors; see
// TranslateUID.
func (m *Manager) Pod(uid types.UID) *v1.Pod {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.pods.byUID[uid]
}

// Mirror returns the mirror pod of its own UID, or nil.
func (m *Manager) Mirror(uid types.UID) *v1.Pod {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.mirrors.byUID[uid]
}

// PodByFullName returns the pod of a full name (see [FullName]), or nil. Of
// several it is the one that was put last.
func (m *Manager) PodByFullName(name string) *v1.Pod {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.pods.named(name)
}

// MirrorByFullName returns the mirror pod of a full name, or nil.
func (m *Manager) MirrorByFullName(name string) *v1.Pod {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.mirrors.named(name)
}

// TranslateUID returns the UID under which a pod runs for the one that users
// see: for a mirror whose static pod is known that pod's, any other UID
// unchanged.
func (m *Manager) TranslateUID(uid types.UID) types.UID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if mirror := m.mirrors.byUID[uid]; mirror != nil {
		if pod := m.pods.named(FullName(mirror)); pod != nil {
			return pod.UID
		}
	}
	return uid
}

// OrphanedMirrors returns the full names of mirrors without a pod, sorted.
func (m *Manager) OrphanedMirrors() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.orphans))
}

func newIndex() index {
	return index{byUID: map[types.UID]*v1.Pod{}, byName: map[string][]*v1.Pod{}}
}

func (i *index) put(pod *v1.Pod) {
	i.byUID[pod.UID] = pod
	i.byName[FullName(pod)] = append(i.byName[FullName(pod)], pod)
}

func (i *index) drop(uid types.UID) *v1.Pod {
	old := i.byUID[uid]
	if old == nil {
		return nil
	}
	delete(i.byUID, uid)
	name := FullName(old)
	rest := slices.DeleteFunc(i.byName[name], func(p *v1.Pod) bool { return p.UID == uid })
	if len(rest) == 0 {
		delete(i.byName, name)
	} else {
		i.byName[name] = rest
	}
	return old
}

func (i *index) named(name string) *v1.Pod {
	pods := i.byName[name]
	if len(pods) == 0 {
		return nil
	}
	return pods[len(pods)-1]
}
