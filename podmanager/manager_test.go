package podmanager_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

var isMirror = annotation(podmanager.AnnotationMirror, "h")

// A static pod and its mirror find each other by name, whichever comes first,
// and part when either goes.
func TestManagerMirrors(t *testing.T) {
	web, mirror := pod("web static"), pod("web mirror", isMirror)
	for name, order := range map[string][]*v1.Pod{
		"the pod first":    {web, mirror},
		"the mirror first": {mirror, web},
	} {
		t.Run(name, func(t *testing.T) {
			m := podmanager.NewManager()
			for _, p := range order {
				m.Put(p)
			}
			require.Same(t, web, m.Pod("static"))
			require.Nil(t, m.Pod("mirror"))
			require.Same(t, mirror, m.Mirror("mirror"))
			require.Same(t, web, m.PodByFullName("web_default"))
			require.Same(t, mirror, m.MirrorByFullName("web_default"))
			require.Equal(t, types.UID("static"), m.TranslateUID("mirror"))
			require.Equal(t, types.UID("static"), m.TranslateUID("static"))
			require.Equal(t, types.UID("stranger"), m.TranslateUID("stranger"))
			require.Equal(t, types.UID(""), m.TranslateUID(""))
			require.Equal(t, []*v1.Pod{web}, m.Pods())
			require.Equal(t, 1, m.Len())
			require.Empty(t, m.OrphanedMirrors())

			m.Remove("static")
			require.Equal(t, []string{"web_default"}, m.OrphanedMirrors())
			require.Equal(t, types.UID("mirror"), m.TranslateUID("mirror"), "no translation is left behind")
			m.Put(pod("web static2"))
			require.Equal(t, types.UID("static2"), m.TranslateUID("mirror"))
			m.Remove("mirror")
			require.Nil(t, m.MirrorByFullName("web_default"))
			require.Equal(t, types.UID("mirror"), m.TranslateUID("mirror"))
			require.Empty(t, m.OrphanedMirrors())
		})
	}
}

// Removing a pod leaves another one of its name alone, in whatever order they
// came.
func TestManagerRemoveComparesTheUID(t *testing.T) {
	m := podmanager.NewManager()
	old, replacement := pod("web 1"), pod("web 2")
	m.Put(old)
	m.Put(replacement)
	require.Same(t, replacement, m.PodByFullName("web_default"))
	m.Remove("1")
	require.Same(t, replacement, m.PodByFullName("web_default"))
	m.Put(old)
	m.Remove("1")
	require.Same(t, replacement, m.PodByFullName("web_default"))
	m.Remove("2")
	require.Nil(t, m.PodByFullName("web_default"))
	m.Remove("2")
	m.Remove("")
	require.Empty(t, m.Pods())
}

// A pod is put again under its UID, also with a new name or as another kind.
func TestManagerPutAgain(t *testing.T) {
	m := podmanager.NewManager()
	m.Put(pod("a 1"))
	m.Put(pod("b 1"))
	require.Nil(t, m.PodByFullName("a_default"))
	require.NotNil(t, m.PodByFullName("b_default"))
	m.Put(pod("b 1", isMirror))
	require.Nil(t, m.Pod("1"))
	require.NotNil(t, m.Mirror("1"))
	require.Equal(t, []string{"b_default"}, m.OrphanedMirrors())
}

// The list of pods is made anew after a change, and no earlier.
func TestManagerPods(t *testing.T) {
	m := podmanager.NewManager()
	require.NotNil(t, m.Pods())
	m.Put(pod("a"))
	m.Put(pod("b"))
	first := m.Pods()
	names := func(list []*v1.Pod) string {
		var all []string
		for _, p := range list {
			all = append(all, p.Name)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	require.Equal(t, "a b", names(first))
	require.Same(t, &first[0], &m.Pods()[0])
	m.Remove("uid-a")
	require.Equal(t, "b", names(m.Pods()))
	require.Equal(t, "a b", names(first), "what was handed out stays as it was")
}

// Many may read while others write; run with -race.
func TestManagerConcurrency(t *testing.T) {
	m := podmanager.NewManager()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 100 {
				uid := types.UID(fmt.Sprintf("uid-%d-%d", i, j))
				m.Put(pod(fmt.Sprintf("%d-%d", i, j), func(p *v1.Pod) { p.UID = uid }))
				m.Pods()
				m.TranslateUID(uid)
				m.OrphanedMirrors()
				m.Remove(uid)
			}
		})
	}
	all.Wait()
	require.Zero(t, m.Len())
}
