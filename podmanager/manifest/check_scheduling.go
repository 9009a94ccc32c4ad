package manifest

import (
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// policies checks the plain fields of the pod's life.
func (c *checker) policies(spec *field.Path) {
	oneOf(c, spec.Child("restartPolicy"), c.spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	if deadline := c.spec.ActiveDeadlineSeconds; deadline != nil {
		within(c, spec.Child("activeDeadlineSeconds"), *deadline, 1, math.MaxInt32)
	}
	c.optionalName(spec.Child("serviceAccountName"), c.spec.ServiceAccountName, validation.IsDNS1123Subdomain)
	if name := c.spec.RuntimeClassName; name != nil {
		c.invalid(spec.Child("runtimeClassName"), *name, validation.IsDNS1123Subdomain(*name)...)
	}
	for i, gate := range c.spec.ReadinessGates {
		path := spec.Child("readinessGates").Index(i).Child("conditionType")
		c.invalid(path, gate.ConditionType, validation.IsQualifiedName(string(gate.ConditionType))...)
	}
}

// scheduling checks what places the pod.
func (c *checker) scheduling(spec *field.Path) {
	c.name(spec.Child("nodeName"), c.spec.NodeName, validation.IsDNS1123Subdomain)
	c.add(metav1validation.ValidateLabels(c.spec.NodeSelector, spec.Child("nodeSelector"))...)
	c.optionalName(spec.Child("priorityClassName"), c.spec.PriorityClassName, validation.IsDNS1123Subdomain)
	optionalOneOf(c, spec.Child("preemptionPolicy"), c.spec.PreemptionPolicy, v1.PreemptLowerPriority, v1.PreemptNever)
	c.schedulingGates(spec)
	if group := c.spec.SchedulingGroup; group != nil {
		path := spec.Child("schedulingGroup", "podGroupName")
		if group.PodGroupName == nil {
			c.required(path, "")
		} else {
			c.name(path, *group.PodGroupName, validation.IsDNS1123Subdomain)
		}
	}
}

// schedulingGates hold a pod back from being placed; a static pod is placed.
func (c *checker) schedulingGates(spec *field.Path) {
	seen := map[string]bool{}
	for i, gate := range c.spec.SchedulingGates {
		path := spec.Child("schedulingGates").Index(i).Child("name")
		c.invalid(path, gate.Name, validation.IsQualifiedName(gate.Name)...)
		c.unique(seen, path, gate.Name)
	}
	if len(seen) > 0 {
		c.forbidden(spec.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
}

func (c *checker) topologySpread(path *field.Path) {
	type key struct{ topology, action string }
	seen := map[key]bool{}
	for i := range c.spec.TopologySpreadConstraints {
		constraint, path := &c.spec.TopologySpreadConstraints[i], path.Index(i)
		atLeast(c, path.Child("maxSkew"), constraint.MaxSkew, 1)
		c.topologyKey(path.Child("topologyKey"), constraint.TopologyKey)
		oneOf(c, path.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, v1.DoNotSchedule, v1.ScheduleAnyway)
		pair := key{constraint.TopologyKey, string(constraint.WhenUnsatisfiable)}
		if seen[pair] {
			c.duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), "{"+pair.topology+", "+pair.action+"}")
		}
		seen[pair] = true
		if domains := constraint.MinDomains; domains != nil {
			atLeast(c, path.Child("minDomains"), *domains, 1)
			if constraint.WhenUnsatisfiable != v1.DoNotSchedule {
				c.invalid(path.Child("minDomains"), *domains, "can only use minDomains if whenUnsatisfiable=DoNotSchedule")
			}
		}
		optionalOneOf(c, path.Child("nodeAffinityPolicy"), constraint.NodeAffinityPolicy, v1.NodeInclusionPolicyIgnore, v1.NodeInclusionPolicyHonor)
		optionalOneOf(c, path.Child("nodeTaintsPolicy"), constraint.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore, v1.NodeInclusionPolicyHonor)
		c.matchLabelKeys(path.Child("matchLabelKeys"), constraint.MatchLabelKeys, constraint.LabelSelector)
		c.add(metav1validation.ValidateLabelSelector(constraint.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("labelSelector"))...)
	}
}

func (c *checker) topologyKey(path *field.Path, key string) {
	if c.present(path, key) {
		c.add(metav1validation.ValidateLabelName(key, path)...)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
