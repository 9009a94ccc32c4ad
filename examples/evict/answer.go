package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/eviction"
)

// answer is what goes out.
type answer struct {
	Conditions []v1.NodeConditionType `json:"conditions"`
	// Short is what is being reclaimed, Reclaim what would be freed before a
	// pod must go.
	Short   v1.ResourceName    `json:"short,omitempty"`
	Signal  eviction.Signal    `json:"signal,omitempty"`
	Reclaim []eviction.Reclaim `json:"reclaim,omitempty"`
	// Victims are the pods that would go now: those over limits of their own,
	// or else the first of the ranking that may.
	Victims  []victim           `json:"victims"`
	Ranking  []ranked           `json:"ranking,omitempty"`
	Problems []eviction.Problem `json:"problems,omitempty"`
	Stuck    bool               `json:"stuck,omitempty"`
}

type victim struct {
	Namespace    string            `json:"namespace"`
	Name         string            `json:"name"`
	Message      string            `json:"message"`
	GraceSeconds float64           `json:"graceSeconds"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

type ranked struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	eviction.Place
}

// decide asks the library.
func decide(in eviction.Input, rank eviction.Signal) answer {
	out := eviction.Evaluate(in)
	a := answer{
		Conditions: out.Conditions, Short: out.Short, Signal: out.Signal, Reclaim: out.Reclaim,
		Victims: []victim{}, Problems: out.Problems, Stuck: out.Stuck != nil,
	}
	victims := out.Over
	if out.Victim != nil {
		victims = append(victims, *out.Victim)
	}
	for _, v := range victims {
		a.Victims = append(a.Victims, victim{v.Pod.Namespace, v.Pod.Name, v.Message, v.Grace().Seconds(), v.Annotations})
	}
	places := out.Ranking()
	if rank != "" {
		places = eviction.Rank(in.Policy, rank, in.Pods)
	}
	for _, p := range places {
		a.Ranking = append(a.Ranking, ranked{p.Pod.Namespace, p.Pod.Name, p})
	}
	return a
}

func (a answer) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(a)
}

func (a answer) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "conditions\t%v\n", a.Conditions)
	if a.Short != "" {
		fmt.Fprintf(t, "short of\t%s (%s)\n", a.Short, a.Signal)
	}
	if len(a.Reclaim) > 0 {
		fmt.Fprintf(t, "first reclaim\t%v\n", a.Reclaim)
	}
	for _, p := range a.Problems {
		fmt.Fprintf(t, "problem\t%s: %s\n", p.Signal, p.Text)
	}
	for _, v := range a.Victims {
		fmt.Fprintf(t, "evict\t%s/%s within %gs: %s\n", v.Namespace, v.Name, v.GraceSeconds, strings.TrimSpace(v.Message))
	}
	if a.Stuck {
		fmt.Fprintf(t, "evict\tnobody: no pod may go\n")
	} else if len(a.Victims) == 0 {
		fmt.Fprintf(t, "evict\tnobody\n")
	}
	if err := t.Flush(); err != nil || len(a.Ranking) == 0 {
		return err
	}
	fmt.Fprintln(t, "\nPLACE\tPOD\tWHY")
	for i, r := range a.Ranking {
		fmt.Fprintf(t, "%d\t%s/%s\t%s\n", i+1, r.Namespace, r.Name, r.Reason)
	}
	return t.Flush()
}
