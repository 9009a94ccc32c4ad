package podmanager

import (
	"maps"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// localAnnotations belong to the node. They take no part in comparisons, and
// keep the value that they had first.
var localAnnotations = [...]string{AnnotationSource, AnnotationMirror, AnnotationSeen}

// seenFormat is RFC 3339 with nine digits of nanoseconds, always.
const seenFormat = "2006-01-02T15:04:05.000000000Z07:00"

func stamp(now time.Time) string { return now.Format(seenFormat) }

// firstSeen is when a pod from a checkpoint was seen before the restart.
func firstSeen(pod *v1.Pod, now time.Time) string {
	if seen := pod.Annotations[AnnotationSeen]; seen != "" {
		return seen
	}
	return stamp(now)
}

// unchanged tells whether a known pod can be taken as unchanged without looking
// into it. The content hash is not asked for pods of the API: there it is the
// hash of the static pod behind a mirror, whose status changes without it.
func unchanged(e *entry, pod *v1.Pod, source string) bool {
	if e.in == pod {
		return true
	}
	if pod.ResourceVersion != "" && pod.ResourceVersion == e.in.ResourceVersion {
		return true
	}
	hash := pod.Annotations[AnnotationHash]
	return source != SourceAPI && hash != "" && hash == e.in.Annotations[AnnotationHash]
}

// classify tells what a change of a known pod is: OpDelete, OpUpdate,
// OpReconcile, or nothing.
func classify(known, pod *v1.Pod) Op {
	if differs(known, pod) {
		if pod.DeletionTimestamp != nil {
			return OpDelete
		}
		return OpUpdate
	}
	if !reflect.DeepEqual(&known.Status, &pod.Status) {
		return OpReconcile
	}
	return ""
}

// differs tells whether two versions of a pod differ in what matters for
// running it. Owners, finalizers, generation and the like don't.
func differs(a, b *v1.Pod) bool {
	return !maps.Equal(a.Labels, b.Labels) ||
		!equalAnnotations(a.Annotations, b.Annotations) ||
		!a.DeletionTimestamp.Equal(b.DeletionTimestamp) ||
		!reflect.DeepEqual(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) ||
		!reflect.DeepEqual(&a.Spec, &b.Spec)
}

// equalAnnotations compares what is not the node's own.
func equalAnnotations(a, b map[string]string) bool {
	return foreign(a) == foreign(b) && containsForeign(a, b)
}

// foreign counts the annotations that are not the node's own.
func foreign(m map[string]string) int {
	n := len(m)
	for _, key := range localAnnotations {
		if _, ok := m[key]; ok {
			n--
		}
	}
	return n
}

// containsForeign tells whether b has all of a's annotations that are not the
// node's own.
func containsForeign(a, b map[string]string) bool {
	for key, value := range a {
		if isLocal(key) {
			continue
		}
		if other, ok := b[key]; !ok || other != value {
			return false
		}
	}
	return true
}

func isLocal(key string) bool { return slices.Contains(localAnnotations[:], key) }

// annotated is the pod with further annotations, in a copy that shares the
// rest.
func annotated(pod *v1.Pod, further map[string]string) *v1.Pod {
	own := *pod
	own.Annotations = make(map[string]string, len(pod.Annotations)+len(further))
	maps.Copy(own.Annotations, pod.Annotations)
	maps.Copy(own.Annotations, further)
	return &own
}

// successor is the new version of a known pod: what the source says, with the
// node's own annotations as they were. Both versions share one map while it says
// the same of both, which it nearly always does: half of an update's work is to
// make a map.
func successor(known, pod *v1.Pod, op Op) *v1.Pod {
	if (op == OpUpdate || op == OpDelete) && !covers(known.Annotations, pod.Annotations) {
		return annotated(pod, local(known.Annotations))
	}
	own := *pod
	own.Annotations = known.Annotations
	return &own
}

// covers tells whether the known annotations are the given ones, with the
// node's own in place of theirs.
func covers(known, given map[string]string) bool {
	for _, key := range localAnnotations {
		if _, ok := given[key]; !ok {
			continue
		}
		if _, ok := known[key]; !ok {
			return false
		}
	}
	return equalAnnotations(known, given)
}

// local returns the annotations that are the node's own.
func local(m map[string]string) map[string]string {
	kept := make(map[string]string, len(localAnnotations))
	for _, key := range localAnnotations {
		if value, ok := m[key]; ok {
			kept[key] = value
		}
	}
	return kept
}
