package podruntime

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// podFacts are what a container may learn about its pod.
type podFacts struct {
	pod         *v1.Pod
	podIPs      []string // primary first
	hostIPs     []string // primary first
	nodeName    string   // for a pod that names no node
	allocatable v1.ResourceList
	objects     objectReader
	sharedFiles bool // containers see the host's files, for volumes
}

// field resolves a fieldRef.
func (f podFacts) field(ref *v1.ObjectFieldSelector) (string, error) {
	if ref.APIVersion != "" && ref.APIVersion != "v1" {
		return "", fmt.Errorf("fieldRef: unsupported API version %q", ref.APIVersion)
	}
	value, err := f.fieldPath(ref.FieldPath)
	if err != nil {
		return "", fmt.Errorf("fieldRef %s: %w", ref.FieldPath, err)
	}
	return value, nil
}

var errNoHostIP = errors.New("the node has no known address")

func (f podFacts) fieldPath(path string) (string, error) {
	switch path {
	case "metadata.name":
		return f.pod.Name, nil
	case "metadata.namespace":
		return f.pod.Namespace, nil
	case "metadata.uid":
		return string(f.pod.UID), nil
	case "metadata.labels":
		return formatMap(f.pod.Labels), nil
	case "metadata.annotations":
		return formatMap(f.pod.Annotations), nil
	case "spec.nodeName":
		if f.pod.Spec.NodeName == "" {
			return f.nodeName, nil
		}
		return f.pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return f.pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		if len(f.hostIPs) == 0 {
			return "", errNoHostIP
		}
		if path == "status.hostIP" {
			return f.hostIPs[0], nil
		}
		return strings.Join(f.hostIPs, ","), nil
	case "status.podIP":
		if ips := f.addresses(); len(ips) > 0 {
			return ips[0], nil
		}
		return "", nil
	case "status.podIPs":
		return strings.Join(f.addresses(), ","), nil
	}
	if key, ok := subscript(path, "metadata.labels"); ok {
		return f.pod.Labels[key], nil
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return f.pod.Annotations[key], nil
	}
	return "", errors.New("unsupported field path")
}

// subscript reads the key out of path['key'].
func subscript(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}

// formatMap gives one key="value" line an entry, sorted by key.
func formatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, k+"="+strconv.Quote(m[k]))
	}
	return strings.Join(lines, "\n")
}

// addresses are the pod's, one a family at most, the node's primary family
// first. A pod in the host's network has the host's.
func (f podFacts) addresses() []string {
	all := f.podIPs
	if len(all) == 0 && f.pod.Spec.HostNetwork {
		all = f.hostIPs
	}
	var v4, v6 string
	for _, s := range all {
		ip, err := netip.ParseAddr(s)
		switch {
		case err != nil:
		case ip.Unmap().Is4():
			if v4 == "" {
				v4 = s
			}
		case v6 == "":
			v6 = s
		}
	}
	first, second := v4, v6
	if len(f.hostIPs) > 0 {
		if ip, err := netip.ParseAddr(f.hostIPs[0]); err == nil && !ip.Unmap().Is4() {
			first, second = v6, v4
		}
	}
	return slices.DeleteFunc([]string{first, second}, func(s string) bool { return s == "" })
}

// resource resolves a resourceFieldRef: the quantity over its divisor, rounded
// up. A limit that is not set is the pod's, and failing that the node's whole
// allocatable; a request that is not set is zero.
func (f podFacts) resource(c *v1.Container, ref *v1.ResourceFieldSelector) (string, error) {
	target := c
	if ref.ContainerName != "" && ref.ContainerName != c.Name {
		target = findContainer(f.pod, ref.ContainerName)
	}
	if target == nil {
		return "", fmt.Errorf("resourceFieldRef: no container %q", ref.ContainerName)
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	if !measurable(name) {
		return "", fmt.Errorf("resourceFieldRef: unsupported resource %q", ref.Resource)
	}
	var q resource.Quantity
	switch kind {
	case "limits":
		q = f.limit(target, v1.ResourceName(name))
	case "requests":
		q = target.Resources.Requests[v1.ResourceName(name)]
	default:
		return "", fmt.Errorf("resourceFieldRef: unsupported resource %q", ref.Resource)
	}
	return divide(q, ref.Divisor, name == string(v1.ResourceCPU)), nil
}

func measurable(name string) bool {
	switch v1.ResourceName(name) {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(name, v1.ResourceHugePagesPrefix)
}

func (f podFacts) limit(c *v1.Container, name v1.ResourceName) resource.Quantity {
	if q, ok := c.Resources.Limits[name]; ok {
		return q
	}
	if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
		return resource.Quantity{}
	}
	if f.pod.Spec.Resources != nil {
		if q, ok := f.pod.Spec.Resources.Limits[name]; ok {
			return q
		}
	}
	return f.allocatable[name]
}

// divide rounds up; a divisor that is not positive counts as one.
func divide(q, divisor resource.Quantity, milli bool) string {
	n, d := q.Value(), divisor.Value()
	if milli {
		n, d = q.MilliValue(), divisor.MilliValue()
		if d <= 0 {
			d = 1000
		}
	}
	d = max(d, 1)
	quotient := n / d
	if n%d > 0 {
		quotient++
	}
	return strconv.FormatInt(quotient, 10)
}
