package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// options are the command line.
type options struct {
	node, pods, summary string
	output              string
	rank                eviction.Signal
	layout              eviction.Layout
	settings            eviction.Settings
}

func parseOptions(args []string, errOut io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("evict", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&o.node, "node", "", "`file` with the node, for the conditions that it has now; optional")
	fs.StringVar(&o.pods, "pods", "", "`file` with a list of pods, of which those of other nodes are left out; required")
	fs.StringVar(&o.summary, "summary", "", "`file` with the stats summary; required")
	fs.StringVar(&o.output, "o", "", "`json` for JSON instead of a table")
	fs.StringVar((*string)(&o.rank), "rank", "", "rank the pods by this `signal` even if it is not short")
	fs.BoolVar(&o.layout.DedicatedImageFs, "image-fs", false, "images are on a file system of their own")
	fs.BoolVar(&o.layout.DedicatedContainerFs, "container-fs", false, "what containers write is on another file system than images")
	o.settings.AddFlags(fs)
	fs.Usage = func() {
		fmt.Fprintln(errOut, "usage: evict --pods FILE --summary FILE [--node FILE] [flags]")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("%q is no flag", fs.Arg(0))
	case o.pods == "" || o.summary == "":
		return o, fmt.Errorf("--pods and --summary are required")
	case o.output != "" && o.output != "json":
		return o, fmt.Errorf("-o %s: json is the only other output", o.output)
	case o.rank != "" && !o.rank.Known():
		return o, fmt.Errorf("--rank %s: no such signal", o.rank)
	}
	return o, nil
}

// input reads the files. Soft thresholds count as if they had held for long.
func (o options) input(now time.Time) (eviction.Input, error) {
	policy, err := o.settings.Policy()
	if err != nil {
		return eviction.Input{}, err
	}
	policy.Layout = o.layout
	policy.Thresholds, _ = eviction.ContainerFsThresholds(policy.Thresholds, o.layout)
	summary, err := readSummary(o.summary)
	if err != nil {
		return eviction.Input{}, err
	}
	name := summary.Node.NodeName
	pods, err := readPods(o.pods, name)
	if err != nil {
		return eviction.Input{}, err
	}
	set := eviction.PodsOf(pods...)
	set.MeasureAll(summary.Pods)
	in := eviction.Input{
		Policy: policy, Observations: eviction.Observe(&summary.Node), Pods: set, Now: now,
	}
	if o.node != "" {
		node, err := readNode(o.node, name)
		if err != nil {
			return eviction.Input{}, err
		}
		in.State.LastSeen = conditionsOf(node, now)
	}
	for _, t := range policy.Thresholds {
		in.State.Met = append(in.State.Met, eviction.MetThreshold{Threshold: t, Since: now.Add(-t.GracePeriod)})
	}
	return in, nil
}

// conditionsOf are the pressure conditions that the node has now.
func conditionsOf(node *v1.Node, now time.Time) map[v1.NodeConditionType]time.Time {
	there := map[v1.NodeConditionType]time.Time{}
	for _, c := range node.Status.Conditions {
		switch c.Type {
		case v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure:
			if c.Status == v1.ConditionTrue {
				there[c.Type] = now
			}
		}
	}
	return there
}

// readSummary reads a stats summary. One without the name of a node is something else.
func readSummary(path string) (eviction.Summary, error) {
	var summary eviction.Summary
	if err := readJSON(path, &summary); err != nil {
		return summary, err
	}
	if summary.Node.NodeName == "" {
		return summary, fmt.Errorf("%s: it is no stats summary: node.nodeName is missing", path)
	}
	return summary, nil
}

// readNode reads the node that the summary is of.
func readNode(path, name string) (*v1.Node, error) {
	var node v1.Node
	if err := readJSON(path, &node); err != nil {
		return nil, err
	}
	switch {
	case node.Kind != "Node":
		return nil, fmt.Errorf("%s: kind is %q, and should be Node", path, node.Kind)
	case node.Name != name:
		return nil, fmt.Errorf("%s: it is node %q, and the summary is of %q", path, node.Name, name)
	}
	return &node, nil
}

// readPods reads a list of pods, and leaves out those that are over and those of other
// nodes.
func readPods(path, node string) ([]*v1.Pod, error) {
	var list v1.PodList
	if err := readJSON(path, &list); err != nil {
		return nil, err
	}
	if list.Kind != "List" && list.Kind != "PodList" {
		return nil, fmt.Errorf("%s: kind is %q, and should be List or PodList", path, list.Kind)
	}
	var pods []*v1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Kind != "" && pod.Kind != "Pod" {
			return nil, fmt.Errorf("%s, items[%d]: kind is %q, and should be Pod", path, i, pod.Kind)
		}
		over := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if !over && (pod.Spec.NodeName == "" || pod.Spec.NodeName == node) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := manifest.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
