package manifest

import (
	v1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *checker) tolerations(path *field.Path) {
	for i := range c.spec.Tolerations {
		c.toleration(path.Index(i), &c.spec.Tolerations[i])
	}
}

func (c *checker) toleration(path *field.Path, t *v1.Toleration) {
	if t.Key != "" {
		c.add(metav1validation.ValidateLabelName(t.Key, path.Child("key"))...)
	} else if t.Operator != v1.TolerationOpExists {
		c.invalid(path.Child("operator"), t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
	}
	if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
		c.invalid(path.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
	}
	switch t.Operator {
	case v1.TolerationOpEqual, "":
		c.invalid(path.Child("operator"), t.Value, validation.IsValidLabelValue(t.Value)...)
	case v1.TolerationOpExists:
		if t.Value != "" {
			c.invalid(path.Child("operator"), *t, "value must be empty when `operator` is 'Exists'")
		}
	default:
		// The operators that compare numbers are not on by default.
		c.add(field.NotSupported(path.Child("operator"), t.Operator, []v1.TolerationOperator{v1.TolerationOpEqual, v1.TolerationOpExists}))
	}
	if t.Effect != "" {
		oneOf(c, path.Child("effect"), t.Effect, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)
	}
}
