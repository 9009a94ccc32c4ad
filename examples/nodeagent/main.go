// Nodeagent runs the pods of a folder of manifests as local processes. It is
// the example that shows all parts of kubeparts at work:
//
//	go run ./examples/nodeagent                      # the samples inside it
//	go run ./examples/nodeagent --manifests DIR      # your own
//	go run ./examples/nodeagent --until-settled -o json
//
// While it runs, `nodeagent status`, explain, events, logs, exec and dump ask it
// over a socket in its root.
//
// See `nodeagent --help` and the README beside this file.
package main

import (
	"fmt"
	"os"
)

// The exit statuses.
const (
	exitOK    = 0 // settled, or stopped by a signal, whatever became of the pods
	exitFault = 1 // a fault of the agent
	exitUsage = 2
)

func main() { os.Exit(run(os.Args[1:], surroundings{})) }

func run(args []string, around surroundings) int {
	if len(args) > 0 {
		switch args[0] {
		case "serve":
			return serve(args[1:], os.Stderr)
		case "help":
			args = []string{"-h"}
		}
		if _, ok := asks[args[0]]; ok {
			return ask(args[0], args[1:], os.Stdout, os.Stderr)
		}
	}
	opts, err := parseFlags(args, around, os.Stderr)
	if err != nil {
		return usage(err)
	}
	if err := runAgent(opts); err != nil {
		fmt.Fprintln(os.Stderr, "nodeagent:", err)
		return exitFault
	}
	return exitOK
}
