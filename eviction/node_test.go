package eviction_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
)

// node is a whole node for a manager: pods that are there until they are killed.
type node struct {
	evictiontest.Stats
	mu     sync.Mutex
	began  time.Time
	pods   []*v1.Pod
	log    []string // "12s what"
	kill   func(eviction.Victim) error
	dirty  map[types.UID]time.Time // when what a pod had is given back
	active int                     // rounds under way, by kills
}

func newNode(pods ...*v1.Pod) *node {
	n := &node{began: time.Now(), pods: pods, dirty: map[types.UID]time.Time{}}
	n.Set(eviction.MemoryAvailable, 900, 1000)
	for _, p := range pods {
		n.SetPodMemory(p.UID, 10)
	}
	return n
}

func (n *node) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, fmt.Sprintf("%v ", time.Since(n.began).Truncate(time.Second))+fmt.Sprintf(format, args...))
}

func (n *node) said() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.log)
}

func (n *node) Pods() []*v1.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.pods)
}

func (n *node) Kill(_ context.Context, v eviction.Victim) error {
	n.say("kill %s", v.Pod.Name)
	if n.kill != nil {
		if err := n.kill(v); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods = slices.DeleteFunc(n.pods, func(p *v1.Pod) bool { return p.UID == v.Pod.UID })
	return nil
}

func (n *node) Eventf(object apiruntime.Object, kind, reason, format string, args ...any) {
	switch o := object.(type) {
	case *v1.Pod:
		n.say("event %s %s %s", o.Name, kind, reason)
	default:
		n.say("event node %s %s", kind, reason)
	}
}

func (n *node) config(hard string) eviction.Config {
	policy, err := eviction.Settings{Hard: map[string]string{"memory.available": hard}}.Policy()
	if err != nil {
		panic(err)
	}
	return eviction.Config{
		Policy: policy, Stats: n, Pods: n.Pods, Kill: n.Kill, Events: n, Node: &v1.ObjectReference{Kind: "Node", Name: "n"},
		Hooks: eviction.Hooks{Conditions: func(c []v1.NodeConditionType) { n.say("conditions %v", c) }},
	}
}

// run runs a manager for a while.
func run(t *testing.T, cfg eviction.Config, d time.Duration) *eviction.Manager {
	t.Helper()
	m, err := eviction.NewManager(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	require.ErrorIs(t, m.Run(ctx), context.DeadlineExceeded)
	synctest.Wait()
	return m
}

func namedPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}}
}

func staticPod(name string) *v1.Pod {
	p := namedPod(name)
	p.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	return p
}

func mustThresholds(t *testing.T, s eviction.Settings) []eviction.Threshold {
	t.Helper()
	thresholds, err := s.Thresholds()
	require.NoError(t, err)
	return thresholds
}
