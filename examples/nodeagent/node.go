package main

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// capacity is the flag --capacity: what the node can give, beside the defaults.
type capacity v1.ResourceList

func (c capacity) String() string {
	parts := make([]string, 0, len(c))
	for _, name := range slices.Sorted(maps.Keys(c)) {
		q := c[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, ",")
}

// Set reads "cpu=2,memory=4Gi"; resources that it does not name keep their
// default.
func (c capacity) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		name, amount, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not of the form resource=quantity", part)
		}
		q, err := resource.ParseQuantity(amount)
		if err != nil {
			return fmt.Errorf("%s: quantity %q: %w", name, amount, err)
		}
		if q.Sign() < 0 {
			return fmt.Errorf("%s: quantity %q is negative", name, amount)
		}
		c[v1.ResourceName(name)] = q
	}
	return nil
}

func defaultCapacity() capacity {
	return capacity{
		v1.ResourceCPU:              resource.MustParse("2"),
		v1.ResourceMemory:           resource.MustParse("4Gi"),
		v1.ResourceEphemeralStorage: resource.MustParse("10Gi"),
		v1.ResourcePods:             resource.MustParse("110"),
	}
}

// newNode is the node that pods are admitted against and that -o json prints.
func newNode(name, ip string, c capacity) *v1.Node {
	return &v1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				v1.LabelHostname:   name,
				v1.LabelOSStable:   goruntime.GOOS,
				v1.LabelArchStable: goruntime.GOARCH,
			},
		},
		Status: v1.NodeStatus{
			Capacity:    v1.ResourceList(c),
			Allocatable: v1.ResourceList(c),
			Addresses: []v1.NodeAddress{
				{Type: v1.NodeInternalIP, Address: ip},
				{Type: v1.NodeHostName, Address: name},
			},
			NodeInfo: v1.NodeSystemInfo{OperatingSystem: goruntime.GOOS, Architecture: goruntime.GOARCH},
		},
	}
}
