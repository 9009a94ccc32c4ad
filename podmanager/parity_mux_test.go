package podmanager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/podmanager"
)

// muxCase is a line of configmux.jsonl: lists of several sources.
type muxCase struct {
	Sources []string `json:"sources"`
	Steps   []struct {
		Source string    `json:"source"`
		Pods   []*v1.Pod `json:"pods"`
	} `json:"steps"`
	Want []muxStep `json:"want"`
}

type muxStep struct {
	Ops     []muxOp  `json:"ops"`
	Events  []string `json:"events,omitempty"`
	SeenAll bool     `json:"seen_all_sources"`
}

type muxOp struct {
	Op     podmanager.Op `json:"op"`
	Source string        `json:"source"`
	Pods   []muxPod      `json:"pods"`
}

type muxPod struct {
	Namespace     string            `json:"namespace"`
	Name          string            `json:"name"`
	UID           types.UID         `json:"uid"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	HasConfigSeen bool              `json:"has_config_seen"`
	Phase         v1.PodPhase       `json:"phase,omitempty"`
	Deleting      bool              `json:"deleting,omitempty"`
	Image         string            `json:"image,omitempty"`
}

func (c *muxCase) want() string { return text(c.Want) }

func (c *muxCase) got(t *testing.T) string {
	m := podmanager.NewMux(c.Sources...)
	steps := []muxStep{}
	for i, s := range c.Steps {
		m.Register(s.Source)
		out, err := m.Merge(s.Source, podmanager.OpSet, s.Pods, recordings.Began.Add(time.Duration(i)*time.Second))
		require.NoError(t, err)
		// The recorder asked whether all registered sources are among those that
		// it knew of in the beginning; a late one is not.
		step := muxStep{Ops: []muxOp{}, SeenAll: m.AllSeen() && len(m.Sources()) == len(c.Sources)}
		for _, u := range out.Updates {
			step.Ops = append(step.Ops, recordOp(u))
		}
		for _, e := range out.Events {
			step.Events = append(step.Events, fmt.Sprintf("%s %s %s", e.Type, e.Reason, e.Message))
		}
		steps = append(steps, step)
	}
	return text(steps)
}

func recordOp(u podmanager.Update) muxOp {
	op := muxOp{Op: u.Op, Source: u.Source, Pods: []muxPod{}}
	for _, pod := range u.Pods {
		_, seen := pod.Annotations[podmanager.AnnotationSeen]
		op.Pods = append(op.Pods, muxPod{
			Namespace:     pod.Namespace,
			Name:          pod.Name,
			UID:           pod.UID,
			Annotations:   without(pod.Annotations, podmanager.AnnotationSeen),
			Labels:        pod.Labels,
			HasConfigSeen: seen,
			Phase:         pod.Status.Phase,
			Deleting:      pod.DeletionTimestamp != nil,
			Image:         pod.Spec.Containers[0].Image,
		})
	}
	if u.Op == podmanager.OpRemove { // of a map's order in the recording
		slices.SortFunc(op.Pods, func(a, b muxPod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	}
	return op
}

func without(m map[string]string, key string) map[string]string {
	rest := map[string]string{}
	for k, v := range m {
		if k != key {
			rest[k] = v
		}
	}
	return rest
}

// The Mux believes a source that says that a pod did not change: an equal
// resourceVersion, or (static pods) an equal content hash. The recorder changed
// pods behind both. And a UID is one pod, of one source and under one name.
var muxRules = []rule[*muxCase]{
	{"an equal resourceVersion means an equal pod", func(c *muxCase, _, _ string) bool {
		return c.anyPair(func(_ string, a, b *v1.Pod) bool {
			return a.ResourceVersion != "" && a.ResourceVersion == b.ResourceVersion
		})
	}},
	{"an equal content hash means an equal static pod", func(c *muxCase, _, _ string) bool {
		return c.anyPair(func(source string, a, b *v1.Pod) bool {
			hash := a.Annotations[podmanager.AnnotationHash]
			return source != podmanager.SourceAPI && hash != "" && hash == b.Annotations[podmanager.AnnotationHash]
		})
	}},
	{"a UID with a new name is another pod", func(c *muxCase, _, _ string) bool {
		return c.anyPair(func(_ string, a, b *v1.Pod) bool { return podmanager.FullName(a) != podmanager.FullName(b) })
	}},
	{"a UID belongs to one source, and to one pod of a list", func(c *muxCase, _, _ string) bool {
		owner := map[types.UID]string{}
		for _, s := range c.Steps {
			inList := map[types.UID]bool{}
			for _, pod := range s.Pods {
				if o, ok := owner[pod.UID]; inList[pod.UID] || ok && o != s.Source {
					return true
				}
				inList[pod.UID], owner[pod.UID] = true, s.Source
			}
		}
		return false
	}},
}

// anyPair tells whether there are two lists in a row of one source with
// different pods of one UID for which f is true.
func (c *muxCase) anyPair(f func(source string, a, b *v1.Pod) bool) bool {
	last := map[string]*v1.Pod{}
	for _, s := range c.Steps {
		for _, pod := range s.Pods {
			key := s.Source + " " + string(pod.UID)
			if old := last[key]; old != nil && text(old) != text(pod) && f(s.Source, old, pod) {
				return true
			}
			last[key] = pod
		}
	}
	return false
}
