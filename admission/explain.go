package admission

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Explanation is all that a chain has to say about one pod, as data (its JSON)
// and for a person (its String).
type Explanation struct {
	Pod     string  `json:"pod"` // namespace/name
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	Message string  `json:"message,omitempty"`
	// Checks holds the verdict of every check, in the chain's order.
	Checks []ExplainedCheck `json:"checks"`
	// Room holds, for each resource that the pod asks for, what there is of it.
	Room []Room `json:"room,omitempty"`
	// Holders are the pods that hold most of what is missing, the largest first.
	Holders []Holder `json:"holders,omitempty"`
	// Victims are the pods that would be stopped for this one, in order.
	Victims []string `json:"victims,omitempty"`
}

// ExplainedCheck is the verdict of one check.
type ExplainedCheck struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	Message string  `json:"message,omitempty"`
}

// Room is what there is of one resource: cpu in millicores, pods as a count, all
// else in base units.
type Room struct {
	Resource  v1.ResourceName `json:"resource"`
	Requested int64           `json:"requested"`
	Used      int64           `json:"used"`
	Capacity  int64           `json:"capacity"`
	// Free is below zero on a node that is over its capacity.
	Free int64 `json:"free"`
}

// Holder is a pod that holds some of a resource that is short.
type Holder struct {
	Resource v1.ResourceName `json:"resource"`
	Pod      string          `json:"pod"` // namespace/name
	Amount   int64           `json:"amount"`
}

// holdersShown is how many pods an explanation names for one resource.
const holdersShown = 3

// Explain judges the pod without any effect and tells all about it: every
// check, what there is, and which pods hold most of what is missing. Naming
// those is the one thing in a chain that looks at every pod of the node.
func (c *Chain) Explain(ctx context.Context, pod *v1.Pod) (Explanation, error) {
	if pod == nil {
		return Explanation{}, errNilPod
	}
	d, err := c.judge(ctx, c.Prepare(pod), true)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Pod: nameOf(pod), Outcome: d.Outcome, Reason: d.Reason, Message: d.Message}
	for _, v := range d.Failures {
		e.Checks = append(e.Checks, ExplainedCheck{v.Name, v.Outcome, v.Reason, v.Message})
		for _, s := range v.Short {
			e.Holders = append(e.Holders, c.Ledger.largest(s.Resource, KeyOf(pod))...)
		}
	}
	if d.Plan != nil {
		for _, v := range d.Plan.Victims {
			e.Victims = append(e.Victims, nameOf(v.Pod))
		}
	}
	unread := slices.ContainsFunc(d.Failures, func(v CheckVerdict) bool { return v.Reason == ReasonInvalidNodeInfo })
	if c.Nodes != nil && !unread { // one that hangs is waited for once
		if node, err := c.node(ctx, false); err == nil {
			e.Room = c.room(pod, node.Status.Allocatable)
		}
	}
	return e, nil
}

// room lists what the pod asks for beside what there is, without the pod.
func (c *Chain) room(pod *v1.Pod, allocatable v1.ResourceList) []Room {
	ledger := c.Ledger.Fork()
	ledger.RemovePod(pod)
	p := c.Prepare(pod)
	var rooms []Room
	add := func(name v1.ResourceName, requested int64) {
		r := Room{Resource: name, Requested: requested, Used: ledger.UsedOf(name), Capacity: amountOf(allocatable, name)}
		if r.Free = r.Capacity - r.Used; requested > 0 {
			rooms = append(rooms, r)
		}
	}
	for _, name := range [...]v1.ResourceName{v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		add(name, p.requests.Of(name))
	}
	for _, name := range p.names {
		add(name, p.asked(name, allocatable))
	}
	return rooms
}

// largest are the pods but one that hold most of a resource.
func (l *Ledger) largest(name v1.ResourceName, but Key) []Holder {
	if name == v1.ResourcePods {
		return nil
	}
	var all []Holder
	for e := range l.entries() {
		if n := e.running.Of(name); n > 0 && e.key != but {
			all = append(all, Holder{name, nameOf(e.pod), n})
		}
	}
	slices.SortFunc(all, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.Pod, b.Pod))
	})
	return all[:min(len(all), holdersShown)]
}

func nameOf(pod *v1.Pod) string {
	if pod.Namespace == "" {
		return pod.Name
	}
	return pod.Namespace + "/" + pod.Name
}

// String is the explanation as text of several lines. What a terminal would act
// upon is escaped.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", printable(e.Pod), e.Outcome)
	if e.Reason != "" {
		fmt.Fprintf(&b, ", %s: %s", printable(e.Reason), printable(e.Message))
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range e.Checks {
		said := strings.TrimSpace(fmt.Sprintf("%s %s", c.Outcome, printable(c.Reason)))
		if c.Message != "" && c.Message != e.Message { // that is in the first line
			said += ": " + printable(c.Message)
		}
		fmt.Fprintf(w, "  %s\t%s\n", printable(c.Name), said)
	}
	if len(e.Room) > 0 {
		fmt.Fprintf(w, "  RESOURCE\tREQUESTED\tUSED\tCAPACITY\tFREE\n")
	}
	for _, r := range e.Room {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", printable(string(r.Resource)), amountText(r.Resource, r.Requested),
			amountText(r.Resource, r.Used), amountText(r.Resource, r.Capacity), amountText(r.Resource, r.Free))
	}
	w.Flush()
	for _, h := range e.Holders {
		fmt.Fprintf(&b, "  %s holds %s of %s\n", printable(h.Pod), amountText(h.Resource, h.Amount), printable(string(h.Resource)))
	}
	for _, v := range e.Victims {
		fmt.Fprintf(&b, "  %s would be stopped\n", printable(v))
	}
	return b.String()
}

// amountText is an amount of a ledger as manifests spell it: 1500 of cpu are 1500m.
func amountText(name v1.ResourceName, n int64) string {
	switch {
	case name == v1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return strconv.FormatInt(n, 10)
}

// printable escapes what is not for the eye: control characters, bytes that are
// no text.
func printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
