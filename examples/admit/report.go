package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/admission"
)

// report is all that is said, as data.
type report struct {
	Node      string    `json:"node"`
	Running   int       `json:"running"`
	LeftOut   leftOut   `json:"leftOut"`
	Pods      []answer  `json:"pods,omitempty"`
	UntilFull *fullness `json:"untilFull,omitempty"`
	Room      []room    `json:"room"`
}

// leftOut are the pods of --pods that take nothing of this node.
type leftOut struct {
	Finished  int `json:"finished"`
	OtherNode int `json:"otherNode"`
}

type answer struct {
	Pod         string                 `json:"pod"`
	Verdict     admission.Outcome      `json:"verdict"` // by preemption it is admit
	Reason      string                 `json:"reason,omitempty"`
	Message     string                 `json:"message,omitempty"`
	Also        []obstacle             `json:"also,omitempty"` // what else stands in the way
	Victims     []victim               `json:"victims,omitempty"`
	Explanation *admission.Explanation `json:"explanation,omitempty"`
}

type obstacle struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type victim struct {
	Pod string         `json:"pod"`
	QOS v1.PodQOSClass `json:"qosClass"`
}

type fullness struct {
	Pod         string                 `json:"pod"`
	Copies      int                    `json:"copies"`
	Reason      string                 `json:"reason,omitempty"`
	Message     string                 `json:"message,omitempty"`
	Explanation *admission.Explanation `json:"explanation,omitempty"` // of the next
}

// room is what there is of one resource once all is judged.
type room struct {
	Resource v1.ResourceName   `json:"resource"`
	Used     resource.Quantity `json:"used"`
	Free     resource.Quantity `json:"free"`
	Capacity resource.Quantity `json:"capacity"`
}

func (w *world) room() []room {
	var rooms []room
	allocatable := w.node.Status.Allocatable
	for _, name := range slices.Sorted(maps.Keys(allocatable)) {
		capacity := allocatable[name]
		used := quantity(name, w.chain.Ledger.UsedOf(name), capacity.Format)
		free := capacity.DeepCopy()
		free.Sub(used)
		rooms = append(rooms, room{name, used, free, capacity})
	}
	return rooms
}

func quantity(name v1.ResourceName, n int64, format resource.Format) resource.Quantity {
	if name == v1.ResourceCPU {
		return *resource.NewMilliQuantity(n, format)
	}
	return *resource.NewQuantity(n, format)
}

// status is the exit status.
func (r *report) status() int {
	if r.UntilFull != nil && r.UntilFull.Copies == 0 {
		return oneRefused
	}
	if slices.ContainsFunc(r.Pods, func(a answer) bool { return a.Verdict != admission.Admit }) {
		return oneRefused
	}
	return allAdmitted
}

func (r *report) writeJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) writeTable(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "node %s, %s\n", printable(r.Node), count(r.Running, "pod runs", "pods run"))
	if r.LeftOut.Finished+r.LeftOut.OtherNode > 0 {
		fmt.Fprintf(&b, "left out: %d finished, %d of other nodes\n", r.LeftOut.Finished, r.LeftOut.OtherNode)
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(r.Pods) > 0 {
		fmt.Fprintln(w, "POD\tVERDICT\tREASON\tMESSAGE")
	}
	for _, a := range r.Pods {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(a.Pod), a.Verdict, or(a.Reason), or(a.Message))
		for _, o := range a.Also {
			fmt.Fprintf(w, "\talso\t%s\t%s\n", or(o.Reason), or(o.Message))
		}
		for _, v := range a.Victims {
			fmt.Fprintf(w, "\tstops\t%s\t%s\n", printable(string(v.QOS)), printable(v.Pod))
		}
	}
	w.Flush()
	if f := r.UntilFull; f != nil {
		fmt.Fprintf(&b, "%s of %s can be added; the next: %s\n", count(f.Copies, "copy", "copies"), printable(f.Pod), printable(strings.TrimPrefix(f.Reason+": "+f.Message, ": ")))
	}
	fmt.Fprintln(w, "\nRESOURCE\tUSED\tFREE\tCAPACITY")
	for _, x := range r.Room {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(string(x.Resource)), x.Used.String(), x.Free.String(), x.Capacity.String())
	}
	w.Flush()
	for _, e := range r.explanations() {
		fmt.Fprintf(&b, "\n%s", e)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (r *report) explanations() (all []*admission.Explanation) {
	if f := r.UntilFull; f != nil && f.Explanation != nil {
		all = append(all, f.Explanation)
	}
	for _, a := range r.Pods {
		if a.Explanation != nil {
			all = append(all, a.Explanation)
		}
	}
	return all
}

func or(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}

// printable escapes what a terminal would act upon, and what would break a table.
func printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
