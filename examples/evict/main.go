// Command evict says what a kubelet would evict now: node, pods and a stats
// summary come as files, conditions, victim and ranking with its reasons go out.
//
//	kubectl get node N -o json >node.json
//	kubectl get pods -A --field-selector spec.nodeName=N -o json >pods.json
//	kubectl get --raw /api/v1/nodes/N/proxy/stats/summary >summary.json
//	evict --node node.json --pods pods.json --summary summary.json --eviction-hard 'memory.available<1Gi'
//
// The kubelet's flags of eviction are understood as the kubelet spells them. With
// --rank it ranks the pods by a signal that is not short, too: a what-if. The exit
// status is 0, and 2 for a wrong use or bad input.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "evict:", err)
		os.Exit(2)
	}
}

// run does what the command line says.
func run(args []string, out, errOut io.Writer) error {
	o, err := parseOptions(args, errOut)
	if err != nil {
		return err
	}
	in, err := o.input(time.Now())
	if err != nil {
		return err
	}
	answer := decide(in, o.rank)
	if o.output == "json" {
		return answer.writeJSON(out)
	}
	return answer.writeTable(out)
}
