package main

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

// showWord prints what a source says.
func showWord(source string, op podmanager.Op, pods ...*v1.Pod) string {
	list := "no pods"
	if len(pods) > 0 {
		list = strings.Join(names(pods), ", ")
	}
	return string(op) + " from " + source + ": " + list
}

// showMerged prints what a Mux made of it.
func showMerged(m podmanager.Merged) string {
	var lines []string
	for _, u := range m.Updates {
		lines = append(lines, showWord(u.Source, u.Op, u.Pods...))
	}
	for _, e := range m.Events {
		lines = append(lines, "event "+e.Type+" "+e.Reason+": "+e.Message)
	}
	if lines == nil {
		return "nothing"
	}
	return joined(lines)
}
