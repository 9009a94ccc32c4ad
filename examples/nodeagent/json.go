package main

import (
	"encoding/json"
	"io"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// writeJSON prints one v1 List: the node, then the pods, each with its kind.
func writeJSON(w io.Writer, node *v1.Node, pods []*v1.Pod) error {
	list := v1.List{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"},
		Items:    []apiruntime.RawExtension{{Object: node}},
	}
	for _, pod := range sorted(pods) {
		pod = pod.DeepCopy()
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		list.Items = append(list.Items, apiruntime.RawExtension{Object: pod})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}
