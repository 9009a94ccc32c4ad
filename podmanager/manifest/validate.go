package manifest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxErrors bounds how many errors of one pod are told.
const maxErrors = 50

// validatePod applies the rules that the API has for a pod that is created, and
// the few by which later layers make folders of names. The pod has its defaults.
// The error is the aggregate of a field.ErrorList.
func validatePod(pod *v1.Pod) error {
	c := &checker{pod: pod, spec: &pod.Spec}
	c.metadata()
	spec := field.NewPath("spec")
	c.resourceClaims(spec.Child("resourceClaims"))
	c.volumeList(spec.Child("volumes"))
	c.containerLists(spec)
	c.policies(spec)
	c.hostNames(spec)
	c.dns(spec)
	c.scheduling(spec)
	c.tolerations(spec.Child("tolerations"))
	c.affinity(spec.Child("affinity"))
	c.topologySpread(spec.Child("topologySpreadConstraints"))
	c.podSecurity(spec)
	c.podResources(spec)
	c.os(spec)
	return c.err()
}

// checker gathers what is wrong with one pod. Its methods are the rules, one
// file a subject.
type checker struct {
	pod  *v1.Pod
	spec *v1.PodSpec
	// volumes and claims are the names that containers may refer to.
	volumes map[string]*v1.VolumeSource
	claims  map[string]bool
	// errs are the first errors; more tells that there were others.
	errs field.ErrorList
	more bool
}

func (c *checker) add(errs ...*field.Error) {
	for _, err := range errs {
		if len(c.errs) == maxErrors {
			c.more = true
			return
		}
		if s, ok := err.BadValue.(string); ok {
			err.BadValue = clip(s)
		}
		err.Field = clip(err.Field)
		c.errs = append(c.errs, err)
	}
}

// err makes one error of all, bounded in number and length.
func (c *checker) err() error {
	if c.more {
		return fmt.Errorf("%w, and more", c.errs.ToAggregate())
	}
	return c.errs.ToAggregate()
}

func (c *checker) required(path *field.Path, detail string) { c.add(field.Required(path, detail)) }

func (c *checker) forbidden(path *field.Path, detail string) { c.add(field.Forbidden(path, detail)) }

func (c *checker) duplicate(path *field.Path, value any) { c.add(field.Duplicate(path, value)) }

// invalid adds an error for each of the details, none for none.
func (c *checker) invalid(path *field.Path, value any, details ...string) {
	for _, detail := range details {
		c.add(field.Invalid(path, value, detail))
	}
}

// present requires a value.
func (c *checker) present(path *field.Path, value string) bool {
	if value == "" {
		c.required(path, "")
		return false
	}
	return true
}

// name requires a value that keeps a rule of names.
func (c *checker) name(path *field.Path, value string, rule func(string) []string) {
	if c.present(path, value) {
		c.invalid(path, value, rule(value)...)
	}
}

// optionalName checks a value that may be empty.
func (c *checker) optionalName(path *field.Path, value string, rule func(string) []string) {
	if value != "" {
		c.invalid(path, value, rule(value)...)
	}
}

// unique notes a value and tells whether it was there before.
func (c *checker) unique(seen map[string]bool, path *field.Path, value string) {
	if seen[value] {
		c.duplicate(path, value)
	}
	seen[value] = true
}

// within bounds a number on both sides.
func within[T ~int32 | ~int64 | ~int](c *checker, path *field.Path, value, low, high T) {
	if value < low || value > high {
		c.invalid(path, value, fmt.Sprintf("must be between %d and %d, inclusive", low, high))
	}
}

// atLeast bounds a number from below.
func atLeast[T ~int32 | ~int64](c *checker, path *field.Path, value, low T) {
	if value < low {
		c.invalid(path, value, fmt.Sprintf("must be greater than or equal to %d", low))
	}
}

// oneOf requires one of the values that are allowed.
func oneOf[T ~string](c *checker, path *field.Path, value T, allowed ...T) {
	if value == "" {
		c.required(path, "")
		return
	}
	for _, a := range allowed {
		if value == a {
			return
		}
	}
	c.add(field.NotSupported(path, value, allowed))
}

// optionalOneOf allows nil beside the values.
func optionalOneOf[T ~string](c *checker, path *field.Path, value *T, allowed ...T) {
	if value != nil {
		oneOf(c, path, *value, allowed...)
	}
}

// exactlyOne requires one of several fields, of which so many are set.
func (c *checker) exactlyOne(path *field.Path, what string, set int) {
	switch {
	case set == 0:
		c.required(path, "must specify one of: "+what)
	case set > 1:
		c.invalid(path, "", "may not have more than one of "+what)
	}
}

// countSet counts what is true.
func countSet(set ...bool) int {
	n := 0
	for _, s := range set {
		if s {
			n++
		}
	}
	return n
}

// descending requires a path that stays below the folder that it is joined to.
func (c *checker) descending(path *field.Path, value string) {
	if strings.HasPrefix(value, "/") || filepath.VolumeName(value) != "" {
		c.invalid(path, value, "must be a relative path")
	}
	c.noBacksteps(path, value)
}

// projected requires a path that can be a file of a volume whose own files
// begin with two dots.
func (c *checker) projected(path *field.Path, value string) {
	if !c.present(path, value) {
		return
	}
	c.descending(path, value)
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") {
		c.invalid(path, value, "must not start with '..'")
	}
}

// noBacksteps forbids to climb, and what no path can hold.
func (c *checker) noBacksteps(path *field.Path, value string) {
	if strings.ContainsRune(value, 0) {
		c.invalid(path, "", "must not contain a NUL")
	}
	if slices.Contains(strings.Split(filepath.ToSlash(value), "/"), "..") {
		c.invalid(path, value, "must not contain '..'")
	}
}
