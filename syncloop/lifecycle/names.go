package lifecycle

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Names keeps static pods of one full name from running at the same time: one
// of them holds the name, the others wait in the order in which they came. The
// zero value is ready. It is not safe for concurrent use.
type Names struct {
	holders map[string]types.UID
	waiting map[string][]types.UID
}

// Acquire asks for a name and tells whether the pod holds it now. If not, it
// waits for its turn; asking again changes nothing.
func (n *Names) Acquire(name string, uid types.UID) bool {
	if n.holders == nil {
		n.holders = map[string]types.UID{}
		n.waiting = map[string][]types.UID{}
	}
	switch holder, held := n.holders[name]; {
	case !held:
		n.holders[name] = uid
		return true
	case holder == uid:
		return true
	}
	if !slices.Contains(n.waiting[name], uid) {
		n.waiting[name] = append(n.waiting[name], uid)
	}
	return false
}

// Release gives a name back, or the place in its queue. If the pod held it and
// another waits, that one holds it now and is returned, to be told at once.
func (n *Names) Release(name string, uid types.UID) (next types.UID, ok bool) {
	queue := n.waiting[name]
	if n.holders[name] != uid {
		if i := slices.Index(queue, uid); i >= 0 {
			n.setQueue(name, slices.Delete(queue, i, i+1))
		}
		return "", false
	}
	if len(queue) == 0 {
		delete(n.holders, name)
		return "", false
	}
	n.holders[name] = queue[0]
	n.setQueue(name, queue[1:])
	return n.holders[name], true
}

// Holder returns the pod that holds the name.
func (n *Names) Holder(name string) (types.UID, bool) {
	uid, ok := n.holders[name]
	return uid, ok
}

func (n *Names) setQueue(name string, queue []types.UID) {
	if len(queue) == 0 {
		delete(n.waiting, name)
		return
	}
	n.waiting[name] = queue
}
