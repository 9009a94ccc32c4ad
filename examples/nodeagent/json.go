package main

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

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
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(plainJSON(data), '\n'))
	return err
}

// plainJSON has what moves a cursor, or reads otherwise than it is written, escaped:
// it stands in texts alone, and they mean the same.
func plainJSON(data []byte) []byte {
	plain := make([]byte, 0, len(data))
	for _, r := range string(data) {
		if r == '\n' || !unicode.In(r, unicode.Cc, unicode.Cf) {
			plain = utf8.AppendRune(plain, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			plain = fmt.Appendf(plain, `\u%04x`, unit)
		}
	}
	return plain
}
