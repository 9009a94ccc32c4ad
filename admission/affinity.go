package admission

import "context"

// Reasons and messages of the checks that compare a pod with its node.
const (
	ReasonNodeAffinity = "NodeAffinity"
	ReasonNodeName     = "NodeName"
	ReasonNodePorts    = "NodePorts"

	messageNodeAffinity = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
	messageNodeName     = "Predicate NodeName failed: node(s) didn't match the requested node name"
	messageNodePorts    = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
)

// NodeAffinity checks the pod's node selector and its required node affinity
// against the node's labels and name. A term that can't be read matches nothing.
// When it alone of a chain's predicates fails, the chain reads the node afresh
// and asks all of them once more.
type NodeAffinity struct{}

// Class is Predicate.
func (NodeAffinity) Class() Class { return Predicate }

// Admit rejects a pod that does not want to be on this node.
func (NodeAffinity) Admit(_ context.Context, req Request) (Verdict, error) {
	p := req.Prepared()
	if !p.selects {
		return Admitted(), nil
	}
	if req.Node == nil {
		return Verdict{}, errNoNode
	}
	// The error names terms that can't be read; those do not match.
	if match, _ := p.affinity.Match(req.Node); !match {
		return Rejected(ReasonNodeAffinity, messageNodeAffinity), nil
	}
	return Admitted(), nil
}

// NodeName checks that a pod that names a node names this one.
type NodeName struct{}

// Class is Predicate.
func (NodeName) Class() Class { return Predicate }

// Admit rejects a pod that is meant for another node.
func (NodeName) Admit(_ context.Context, req Request) (Verdict, error) {
	name := req.Pod.Spec.NodeName
	if name == "" {
		return Admitted(), nil
	}
	if req.Node == nil {
		return Verdict{}, errNoNode
	}
	if name != req.Node.Name {
		return Rejected(ReasonNodeName, messageNodeName), nil
	}
	return Admitted(), nil
}
