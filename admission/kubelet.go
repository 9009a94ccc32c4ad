package admission

// NodeChecks are the kubelet's checks of a pod against its node, in its order:
// operating system, groups policy, then the predicates.
func NodeChecks(fit NodeFit) []Check {
	return []Check{
		{Name: "OSLabel", Handler: OSLabel{}},
		{Name: "OSField", Handler: OSField{}},
		{Name: "SupplementalGroupsPolicy", Handler: GroupsPolicy{}},
		{Name: "NodeFit", Handler: fit},
		{Name: "NodeAffinity", Handler: NodeAffinity{}},
		{Name: "NodeName", Handler: NodeName{}},
		{Name: "NodePorts", Handler: NodePorts{}},
		{Name: "TaintToleration", Handler: Taints{}},
	}
}
