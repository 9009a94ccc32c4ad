package podruntime

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubeparts/kubeparts/runtime"
)

// environment is an environment under construction: names are unique, and keep
// the place of their first definition.
type environment struct {
	vars     []runtime.EnvVar
	index    map[string]int
	expanded int // bytes that references came to so far
	// skipped says which keys of objects could not become variables.
	skipped []string
}

// spend takes what a reference came to off the budget.
func (e *environment) spend(value string) error {
	if e.expanded += len(value); e.expanded > runtime.MaxExpanded {
		return runtime.ErrExpanded
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
		if err := env.setAll(&c.EnvFrom[i], facts.objects); err != nil {
			return nil, placed(fmt.Sprintf("envFrom[%d]", i), err)
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
				return nil, placed("env "+v.Name, err)
			}
			if ok {
				env.set(v.Name, value)
			}
		}
	}
	return env, nil
}

// setAll defines a variable for each key of an object, in the order of the keys.
// A key that can't be a name is left out, and kept for an event.
func (e *environment) setAll(src *v1.EnvFromSource, objects objectReader) error {
	var values map[string]string
	var from string
	switch {
	case src.ConfigMapRef != nil:
		object, err := objects.configMap(src.ConfigMapRef.Name, src.ConfigMapRef.Optional)
		if err != nil || object == nil {
			return err
		}
		values, from = object.Data, "configMap "+objects.namespace+"/"+object.Name
	case src.SecretRef != nil:
		object, err := objects.secret(src.SecretRef.Name, src.SecretRef.Optional)
		if err != nil || object == nil {
			return err
		}
		values, from = texts(object.Data), "secret "+objects.namespace+"/"+object.Name
	}
	var invalid []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := src.Prefix + key
		if len(validation.IsRelaxedEnvVarName(name)) > 0 || strings.Contains(values[key], "\x00") {
			invalid = append(invalid, name)
			continue
		}
		if err := e.spend(values[key]); err != nil {
			return err
		}
		e.set(name, values[key])
	}
	if len(invalid) > 0 {
		e.skipped = append(e.skipped, fmt.Sprintf(
			"Keys [%s] from the EnvFrom %s were skipped since they are considered invalid environment variable names.",
			strings.Join(invalid, ", "), from))
	}
	return nil
}

func texts(data map[string][]byte) map[string]string {
	all := make(map[string]string, len(data))
	for key, value := range data {
		all[key] = string(value)
	}
	return all
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
		object, err := f.objects.configMap(ref.Name, ref.Optional)
		if err != nil || object == nil {
			return "", false, err
		}
		value, ok := object.Data[ref.Key]
		return f.keyed("ConfigMap", ref.Name, ref.Key, value, ok, ref.Optional)
	case src.SecretKeyRef != nil:
		ref := src.SecretKeyRef
		object, err := f.objects.secret(ref.Name, ref.Optional)
		if err != nil || object == nil {
			return "", false, err
		}
		value, ok := object.Data[ref.Key]
		return f.keyed("Secret", ref.Name, ref.Key, string(value), ok, ref.Optional)
	case src.FileKeyRef != nil:
		ref := src.FileKeyRef
		if isOptional(ref.Optional) {
			return "", false, nil
		}
		return "", false, fmt.Errorf("fileKeyRef to volume %q: files as a source of variables are not supported", ref.VolumeName)
	}
	return "", false, nil
}

// keyed is the value of a key, unless the object has no such key or a value that
// no variable can hold.
func (f podFacts) keyed(kind, object, key, value string, ok bool, optional *bool) (string, bool, error) {
	switch {
	case !ok && isOptional(optional):
		return "", false, nil
	case !ok:
		return "", false, &objectError{fmt.Errorf("couldn't find key %s in %s %s/%s", key, kind, f.pod.Namespace, object)}
	case strings.Contains(value, "\x00"):
		return "", false, fmt.Errorf("key %s of %s %s/%s: a value with a NUL can't be in an environment", key, kind, f.pod.Namespace, object)
	}
	return value, true, nil
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
