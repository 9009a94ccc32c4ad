package manifest

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The weight of a preference.
const minWeight, maxWeight = 1, 100

// nodeNameField is the one field that matchFields knows.
const nodeNameField = "metadata.name"

func (c *checker) affinity(path *field.Path) {
	affinity := c.spec.Affinity
	if affinity == nil {
		return
	}
	if affinity.NodeAffinity != nil {
		c.nodeAffinity(path.Child("nodeAffinity"), affinity.NodeAffinity)
	}
	if pods := affinity.PodAffinity; pods != nil {
		c.podTerms(path.Child("podAffinity"), pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pods := affinity.PodAntiAffinity; pods != nil {
		c.podTerms(path.Child("podAntiAffinity"), pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (c *checker) nodeAffinity(path *field.Path, affinity *v1.NodeAffinity) {
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		path := path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			c.required(path, "must have at least one node selector term")
		}
		for i := range required.NodeSelectorTerms {
			c.nodeTerm(path.Index(i), &required.NodeSelectorTerms[i], true)
		}
	}
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		path := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		within(c, path.Child("weight"), term.Weight, minWeight, maxWeight)
		c.nodeTerm(path.Child("preference"), &term.Preference, false)
	}
}

func (c *checker) nodeTerm(path *field.Path, term *v1.NodeSelectorTerm, required bool) {
	for i := range term.MatchExpressions {
		c.nodeExpression(path.Child("matchExpressions").Index(i), &term.MatchExpressions[i], required)
	}
	for i := range term.MatchFields {
		c.nodeField(path.Child("matchFields").Index(i), &term.MatchFields[i])
	}
}

func (c *checker) nodeExpression(path *field.Path, r *v1.NodeSelectorRequirement, required bool) {
	values := path.Child("values")
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			c.required(values, "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			c.forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			c.required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		c.invalid(path.Child("operator"), r.Operator, "not a valid selector operator")
	}
	c.add(metav1validation.ValidateLabelName(r.Key, path.Child("key"))...)
	if !required {
		return // a preference that can't be met does no harm
	}
	for i, value := range r.Values {
		c.invalid(values.Index(i), value, validation.IsValidLabelValue(value)...)
	}
}

func (c *checker) nodeField(path *field.Path, r *v1.NodeSelectorRequirement) {
	if r.Operator != v1.NodeSelectorOpIn && r.Operator != v1.NodeSelectorOpNotIn {
		c.invalid(path.Child("operator"), r.Operator, "not a valid selector operator")
	} else if len(r.Values) != 1 {
		c.required(path.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
	}
	if r.Key != nodeNameField {
		c.invalid(path.Child("key"), r.Key, "not a valid field selector key")
		return
	}
	for i, value := range r.Values {
		c.invalid(path.Child("values").Index(i), value, validation.IsDNS1123Subdomain(value)...)
	}
}

func (c *checker) podTerms(path *field.Path, required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	for i := range required {
		c.podTerm(path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i), &required[i])
	}
	for i := range preferred {
		path := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		within(c, path.Child("weight"), preferred[i].Weight, minWeight, maxWeight)
		c.podTerm(path.Child("podAffinityTerm"), &preferred[i].PodAffinityTerm)
	}
}

func (c *checker) podTerm(path *field.Path, term *v1.PodAffinityTerm) {
	options := metav1validation.LabelSelectorValidationOptions{}
	c.add(metav1validation.ValidateLabelSelector(term.LabelSelector, options, path.Child("labelSelector"))...)
	c.add(metav1validation.ValidateLabelSelector(term.NamespaceSelector, options, path.Child("namespaceSelector"))...)
	for _, namespace := range term.Namespaces {
		c.invalid(path.Child("namespace"), namespace, validation.IsDNS1123Label(namespace)...)
	}
	c.topologyKey(path.Child("topologyKey"), term.TopologyKey)
	c.matchLabelKeys(path.Child("matchLabelKeys"), term.MatchLabelKeys, term.LabelSelector)
	c.matchLabelKeys(path.Child("mismatchLabelKeys"), term.MismatchLabelKeys, term.LabelSelector)
	for i, key := range term.MatchLabelKeys {
		if slices.Contains(term.MismatchLabelKeys, key) {
			c.invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
}

// matchLabelKeys checks keys that widen a selector by the pod's own labels: the
// selector has to be there, and must not name them itself.
func (c *checker) matchLabelKeys(path *field.Path, keys []string, selector *metav1.LabelSelector) {
	if len(keys) == 0 {
		return
	}
	if selector == nil {
		c.forbidden(path, "must not be specified when labelSelector is not set")
		return
	}
	own := map[string]bool{}
	for key := range selector.MatchLabels {
		own[key] = true
	}
	for _, expression := range selector.MatchExpressions {
		own[expression.Key] = true
	}
	for i, key := range keys {
		c.add(metav1validation.ValidateLabelName(key, path.Index(i))...)
		if own[key] {
			c.invalid(path.Index(i), key, "exists in both matchLabelKeys and labelSelector")
		}
	}
}
