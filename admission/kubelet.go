package admission

// Kubelet is what the kubelet's chain needs to know of its host; the zero value
// allows no sysctls, lets any AppArmor profile pass, and declares no features.
type Kubelet struct {
	// Eviction refuses pods while the node is under pressure; nil leaves it out.
	// Package eviction has one.
	Eviction AdmitHandler
	// Sysctls is the allow-list; nil allows no sysctl at all.
	Sysctls *Sysctls
	// Allocator hands out devices, CPUs and memory banks; nil leaves it out.
	Allocator Allocator
	// Devices may raise the node's allocatable for a pod; see [NodeFit].
	Devices DeviceResources
	// AppArmor says whether the host can enforce profiles.
	AppArmor AppArmor
	// PodLevelResources says whether pods may state resources as a whole.
	PodLevelResources PodLevelResources
	// DeclaredFeatures are those of this node; nil leaves the check out.
	DeclaredFeatures *DeclaredFeatures
	// Shutdown refuses all while the node shuts down.
	Shutdown NodeShutdown
}

// KubeletChecks are all checks of the kubelet, in its order.
func KubeletChecks(k Kubelet) []Check {
	var checks []Check
	add := func(name string, h AdmitHandler) { checks = append(checks, Check{Name: name, Handler: h}) }
	if k.Eviction != nil {
		add("Eviction", k.Eviction)
	}
	if k.Sysctls == nil {
		k.Sysctls = &Sysctls{}
	}
	add("Sysctls", k.Sysctls)
	if k.Allocator != nil {
		add("Allocation", Allocation{k.Allocator})
	}
	checks = append(checks, NodeChecks(NodeFit{Devices: k.Devices})...)
	add("AppArmor", k.AppArmor)
	add("PodLevelResources", k.PodLevelResources)
	if k.DeclaredFeatures != nil {
		add("DeclaredFeatures", k.DeclaredFeatures)
	}
	add("NodeShutdown", k.Shutdown)
	return checks
}

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
