// Tour walks through the mechanisms of a kubelet, one after the other: what goes
// in, what the library decides and why, what comes out. It is for a reader of
// articles on the kubelet who wants to see each mechanism alone, and the function
// of the library that it is.
//
//	go run ./examples/tour            the list of mechanisms
//	go run ./examples/tour NAME       one of them
//	go run ./examples/tour all        all, in the order of the list
//
// Nothing here sleeps, and no line depends on a clock. The pure cores take the
// time as an argument, so that a crash loop of an hour is over at once; the
// single step of the loop waits for events, not for time. Some walks of the last
// chapter run a whole node on fakes, and wait for what happens there.
//
// One file holds one mechanism. Adding one is a file, an entry in registry.go,
// and its golden file: go test ./examples/tour -update.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
)

const usage = "usage: tour [all | NAME]\n"

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole command. It returns the exit status: 0, 1 when a walk could
// not be finished, 2 for a wrong use.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		list(stdout)
		return 0
	}
	if slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]) {
		fmt.Fprint(stdout, usage, "\n")
		list(stdout)
		return 0
	}
	chosen := choose(args)
	if chosen == nil && len(args) == 1 {
		fmt.Fprintf(stderr, "tour: there is no mechanism %q; tour without a name lists them\n", args[0])
		return 2
	}
	if chosen == nil {
		fmt.Fprint(stderr, usage)
		return 2
	}
	for i, m := range chosen {
		if i > 0 {
			fmt.Fprint(stdout, "\n\n")
		}
		text, err := m.text(ctx)
		fmt.Fprint(stdout, text)
		if err != nil {
			fmt.Fprintf(stderr, "tour: %s: %v\n", m.name, err)
			return 1
		}
	}
	return 0
}

// choose returns the mechanisms that the arguments name; nil for a wrong use.
func choose(args []string) []mechanism {
	if len(args) != 1 {
		return nil
	}
	if args[0] == "all" {
		return mechanisms()
	}
	for _, m := range mechanisms() {
		if m.name == args[0] {
			return []mechanism{m}
		}
	}
	return nil
}

// list prints what there is to see.
func list(w io.Writer) {
	fmt.Fprintln(w, "The mechanisms of a kubelet, each in a few steps on fakes.")
	fmt.Fprintln(w)
	fmt.Fprintln(w, "  tour NAME   walks through one of them")
	fmt.Fprintln(w, "  tour all    walks through all, in this order")
	for _, c := range chapters {
		fmt.Fprintf(w, "\n%s\n", c.title)
		for _, m := range c.mechanisms {
			fmt.Fprintf(w, "  %-18s  %s\n", m.name, m.line)
		}
	}
}
