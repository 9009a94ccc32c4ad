package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
)

// NodeGetter gives the node that pods are judged against. The node is a value:
// nobody writes to it. A getter heeds its context; the sync loop waits for it.
type NodeGetter interface {
	// Node returns the node. It may come from a cache unless fresh is set.
	Node(ctx context.Context, fresh bool) (*v1.Node, error)
}

// NodeFunc makes a NodeGetter of a function.
type NodeFunc func(ctx context.Context, fresh bool) (*v1.Node, error)

// Node calls f; a nil one is an error.
func (f NodeFunc) Node(ctx context.Context, fresh bool) (*v1.Node, error) {
	if f == nil {
		return nil, errNoNode
	}
	return f(ctx, fresh)
}

// FixedNode is a NodeGetter that always gives the same node: for a test, a
// what-if, or an agent whose node never changes.
func FixedNode(node *v1.Node) NodeGetter { return fixedNode{node} }

type fixedNode struct{ node *v1.Node }

func (f fixedNode) Node(context.Context, bool) (*v1.Node, error) { return f.node, nil }

var (
	errNoNode    = errors.New("no node to judge against: the chain's NodeGetter is missing")
	errGaveNone  = errors.New("the NodeGetter gave no node")
	errNodeRests = errors.New("the node was not read: the last time there was no answer for long")
	errNilPod    = errors.New("the pod is nil")
	errNilLedger = errors.New("admission chain: Ledger is nil")

	errNoHandler   = errors.New("it has no Handler")
	errNoLedger    = errors.New("no ledger to judge against: the Request's Ledger is nil")
	errNoAllocator = errors.New("it has no Allocator")
)

// node reads the node. A cached one is seen with the label of its operating
// system put right, as the kubelet does; the kubelet writes that into the
// shared node, here it is a copy.
func (c *Chain) node(ctx context.Context, fresh bool) (*v1.Node, error) {
	if f, ok := c.Nodes.(fixedNode); ok && f.node != nil {
		if fresh {
			return f.node, nil
		}
		return withOSLabel(f.node, c.OS), nil
	}
	who := cachedNode
	if fresh {
		who = freshNode
	}
	if c.Patience.rests(who) {
		return nil, errNodeRests
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	node, err := c.Nodes.Node(limited, fresh)
	c.Patience.asked(ctx, who, began, err == nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the node: %w", err)
	case node == nil:
		return nil, errGaveNone
	case fresh:
		return node, nil
	}
	return withOSLabel(node, c.OS), nil
}

func withOSLabel(node *v1.Node, os string) *v1.Node {
	os = osOr(os)
	if len(node.Labels) == 0 || node.Labels[v1.LabelOSStable] == os {
		return node
	}
	corrected := *node
	corrected.Labels = maps.Clone(node.Labels)
	corrected.Labels[v1.LabelOSStable] = os
	return &corrected
}

func osOr(os string) string {
	if os == "" {
		return runtime.GOOS
	}
	return os
}
