package podruntime

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// maxExpanded bounds, in bytes, what all references of a container come to. It
// is more than any kernel takes as arguments and environment of a process; forty
// variables, each twice the one before, would be more than any machine has.
const maxExpanded = 8 << 20

var errExpanded = fmt.Errorf("references of the container expand to more than %d MiB", maxExpanded>>20)

// environment is an environment under construction: names are unique, and keep
// the place of their first definition.
type environment struct {
	vars     []runtime.EnvVar
	index    map[string]int
	expanded int // bytes that references came to so far
}

// spend takes what a reference came to off the budget.
func (e *environment) spend(value string) error {
	if e.expanded += len(value); e.expanded > maxExpanded {
		return errExpanded
	}
	return nil
}

// expand expands the references in s.
func (e *environment) expand(s string) (string, error) {
	var err error
	text := runtime.Expand(s, func(name string) (string, bool) {
		value, ok := e.lookup(name)
		if err == nil {
			err = e.spend(value)
		}
		if err != nil {
			return "", ok
		}
		return value, ok
	})
	return text, err
}

func (e *environment) set(name, value string) {
	if i, ok := e.index[name]; ok {
		e.vars[i].Value = value
		return
	}
	if e.index == nil {
		e.index = make(map[string]int)
	}
	e.index[name] = len(e.vars)
	e.vars = append(e.vars, runtime.EnvVar{Name: name, Value: value})
}

func (e *environment) lookup(name string) (string, bool) {
	i, ok := e.index[name]
	if !ok {
		return "", false
	}
	return e.vars[i].Value, true
}

// environmentOf builds the environment of a container by the kubelet's rules:
// envFrom, then env, in order, the last definition of a name deciding. A
// literal value sees what was defined before it, and nothing later; the value
// of a reference is taken as it is. An error names variable and reference, and
// never a value.
func environmentOf(c *v1.Container, facts podFacts) (*environment, error) {
	env := &environment{}
	for i := range c.EnvFrom {
		if err := checkEnvFrom(&c.EnvFrom[i], facts.pod.Namespace); err != nil {
			return nil, fmt.Errorf("envFrom[%d]: %w", i, err)
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		switch {
		case v.Value != "" || v.ValueFrom == nil:
			value, err := env.expand(v.Value)
			if err != nil {
				return nil, fmt.Errorf("env %s: %w", v.Name, err)
			}
			env.set(v.Name, value)
		default:
			value, ok, err := facts.reference(c, v.ValueFrom)
			if err == nil {
				err = env.spend(value)
			}
			if err != nil {
				return nil, fmt.Errorf("env %s: %w", v.Name, err)
			}
			if ok {
				env.set(v.Name, value)
			}
		}
	}
	return env, nil
}

// checkEnvFrom accepts a source that may be missing, since it is.
func checkEnvFrom(src *v1.EnvFromSource, namespace string) error {
	switch {
	case src.ConfigMapRef != nil:
		return absent("ConfigMap", namespace, src.ConfigMapRef.Name, src.ConfigMapRef.Optional)
	case src.SecretRef != nil:
		return absent("Secret", namespace, src.SecretRef.Name, src.SecretRef.Optional)
	}
	return nil
}

// reference resolves a valueFrom. Without an error, false means that the
// variable is left out: its reference is optional, and absent.
func (f podFacts) reference(c *v1.Container, src *v1.EnvVarSource) (string, bool, error) {
	switch {
	case src.FieldRef != nil:
		value, err := f.field(src.FieldRef)
		return value, true, err
	case src.ResourceFieldRef != nil:
		value, err := f.resource(c, src.ResourceFieldRef)
		return value, true, err
	case src.ConfigMapKeyRef != nil:
		ref := src.ConfigMapKeyRef
		return "", false, absent("ConfigMap", f.pod.Namespace, ref.Name, ref.Optional)
	case src.SecretKeyRef != nil:
		ref := src.SecretKeyRef
		return "", false, absent("Secret", f.pod.Namespace, ref.Name, ref.Optional)
	case src.FileKeyRef != nil:
		ref := src.FileKeyRef
		if ref.Optional != nil && *ref.Optional {
			return "", false, nil
		}
		return "", false, fmt.Errorf("fileKeyRef to volume %q: files as a source of variables are not supported", ref.VolumeName)
	}
	return "", false, nil
}

// absent is the error for a reference to an API object, which nobody can
// resolve here, unless the reference is optional.
func absent(kind, namespace, name string, optional *bool) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("%s %s/%s: this runtime has no source of %ss", kind, namespace, name, kind)
}

// expandAll expands each string with the environment; nil stays nil, which
// means the image's own.
func expandAll(in []string, env *environment) ([]string, error) {
	if in == nil {
		return nil, nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		text, err := env.expand(s)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = text
	}
	return out, nil
}
