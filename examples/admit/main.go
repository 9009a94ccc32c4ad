// Admit says whether pods may run on a node, as the kubelet of that node would,
// from files that kubectl prints and people write:
//
//	kubectl get node n1 -o yaml > node.yaml
//	kubectl get pods -A -o yaml > running.yaml
//	go run ./examples/admit --node node.yaml --pods running.yaml candidate.yaml
//
// A file may hold several documents, lists among them, in YAML or JSON; "-" is
// the standard input. Candidates are judged in turn, and one that is admitted
// counts for the next; with --each every one is judged by itself. One that runs
// already, by its UID, is judged in its place, as a resize. One with the annotation
// kubernetes.io/config.source: file is judged as a static pod. --explain tells
// of every check, -o json gives data, and --until-full says how many copies of
// the one candidate fit, and what stops the next.
//
// Pods are kept out for the conditions that the node shows: MemoryPressure and its
// kind. A node does not tell all: AppArmor is taken to be there, and of sysctls the
// safe ones are allowed.
//
// It ends with 0 when all candidates are admitted, by preemption too, 1 when one
// is not, and 2 for input that is none, with the file and the field. A field of a
// candidate that nobody knows is a warning.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// The exit statuses.
const (
	allAdmitted = 0
	oneRefused  = 1
	badInput    = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

type options struct {
	node, pods, output       string
	each, explain, untilFull bool
	candidates               []string
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return allAdmitted
	}
	if err != nil {
		fmt.Fprintln(stderr, "admit:", printable(err.Error()))
		return badInput
	}
	w, err := readWorld(o, &reader{stdin: stdin}, func(warning string) {
		fmt.Fprintln(stderr, "admit: warning:", printable(warning))
	})
	if err != nil {
		fmt.Fprintln(stderr, "admit:", printable(err.Error()))
		return badInput
	}
	rep, err := w.judge(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, "admit:", printable(err.Error()))
		return badInput
	}
	if o.output == "json" {
		err = rep.writeJSON(stdout)
	} else {
		err = rep.writeTable(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "admit:", printable(err.Error()))
		return badInput
	}
	return rep.status()
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("admit", flag.ContinueOnError)
	f.SetOutput(stderr)
	once := func(into *string) func(string) error {
		return func(file string) error {
			if *into != "" {
				return errors.New("it is given twice")
			}
			*into = file
			return nil
		}
	}
	f.Func("node", "`file` with the node; required", once(&o.node))
	f.Func("pods", "`file` with the pods that run there", once(&o.pods))
	f.StringVar(&o.output, "o", "table", "`table or json`: what to print")
	f.BoolVar(&o.each, "each", false, "judge each candidate by itself")
	f.BoolVar(&o.explain, "explain", false, "tell of every check")
	f.BoolVar(&o.untilFull, "until-full", false, "say how many copies of the one candidate fit")
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: admit --node FILE [--pods FILE] [flags] CANDIDATE...\n"+
			"A file holds YAML or JSON, one object or several; - is the standard input. The exit\n"+
			"status is 1 if a candidate is not admitted.")
		f.PrintDefaults()
	}
	for len(args) > 0 { // flags may come after a candidate, as kubectl takes them
		if err := f.Parse(args); err != nil {
			return o, err
		}
		if args = f.Args(); len(args) > 0 {
			o.candidates, args = append(o.candidates, args[0]), args[1:]
		}
	}
	switch {
	case o.node == "":
		return o, errors.New("--node is missing")
	case len(o.candidates) == 0:
		return o, errors.New("no candidate is given")
	case o.untilFull && o.each:
		return o, errors.New("--until-full takes one candidate, and --each is about several: leave one of them out")
	case o.output != "table" && o.output != "json":
		return o, fmt.Errorf("-o %s: it is table or json", o.output)
	}
	return o, nil
}
