package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// restart checks a container's own restart policy and the rules that go before
// it.
func (c *checker) restart(path *field.Path, container *v1.Container) {
	optionalOneOf(c, path.Child("restartPolicy"), container.RestartPolicy,
		v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever)
	rules := container.RestartPolicyRules
	if len(rules) == 0 {
		return
	}
	if container.RestartPolicy == nil {
		c.required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used")
	}
	path = path.Child("restartPolicyRules")
	if len(rules) > maxRestartRules {
		c.add(field.TooMany(path, len(rules), maxRestartRules))
		return
	}
	for i, rule := range rules {
		c.restartRule(path.Index(i), rule)
	}
}

func (c *checker) restartRule(path *field.Path, rule v1.ContainerRestartRule) {
	oneOf(c, path.Child("action"), rule.Action, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers)
	if rule.ExitCodes == nil {
		c.required(path.Child("exitCodes"), "must be specified")
		return
	}
	path = path.Child("exitCodes")
	oneOf(c, path.Child("operator"), rule.ExitCodes.Operator,
		v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn)
	if n := len(rule.ExitCodes.Values); n > maxExitCodes {
		c.add(field.TooMany(path.Child("values"), n, maxExitCodes))
	}
}
