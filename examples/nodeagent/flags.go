package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
)

// options are the flags of the agent.
type options struct {
	manifests     string
	manifestURL   string
	objects       string
	root          string
	nodeName      string
	nodeIP        string
	capacity      capacity
	checkpoint    checkpoint.Policy
	output        string
	statuses      string
	untilSettled  bool
	settleTimeout time.Duration
	stopOnTerm    bool

	eviction       eviction.Settings
	staticPodsStay bool
	around         surroundings // not a flag
}

func parseFlags(args []string, around surroundings, stderr io.Writer) (options, error) {
	o := options{capacity: defaultCapacity(), around: around}
	fs := flag.NewFlagSet("nodeagent", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.manifests, "manifests", "", "`folder or file` with pod manifests; without it and --manifest-url the samples run")
	fs.StringVar(&o.manifestURL, "manifest-url", "", "`URL` that serves a pod or a list of pods")
	fs.StringVar(&o.objects, "objects", "", "`folder or file` with manifests of the ConfigMaps and Secrets that pods may refer to; without it none may")
	fs.StringVar(&o.root, "root", "", "`folder` for volumes, logs and state (default: a fixed one in your cache folder)")
	fs.StringVar(&o.nodeName, "node-name", "node", "`name` of the node, a suffix of the pods' names")
	fs.StringVar(&o.nodeIP, "node-ip", "127.0.0.1", "`address` of the node and of its pods")
	fs.Var(o.capacity, "capacity", "what the node can give, as `resource=quantity,…`")
	fs.StringVar((*string)(&o.checkpoint), "checkpoint", string(checkpoint.Annotated), "`annotated, all or none`: which pods are kept on disk, and run again while their source is down")
	fs.StringVar(&o.output, "o", "table", "`table or json`: what to print on stdout")
	fs.StringVar(&o.statuses, "statuses", "", "`file` to which each status of a pod is added, a line of JSON each")
	fs.BoolVar(&o.untilSettled, "until-settled", false, "stop all pods, clean up and end once every pod is ready, finished, rejected or hopeless")
	fs.DurationVar(&o.settleTimeout, "settle-timeout", 30*time.Second, "how long a pod may be not ready, or a source silent, before --until-settled gives up on it; half of it if the samples run")
	fs.BoolVar(&o.stopOnTerm, "stop-pods-on-term", false, "stop the pods on SIGTERM too, instead of leaving them to the next agent")
	o.eviction.AddFlags(fs)
	fs.BoolVar(&o.staticPodsStay, "static-pods-stay", false, "never evict a static pod, nor keep one out, as the kubelet; all pods of this agent are static")
	fs.Usage = func() {} // see help
	help := func() {
		fs.SetOutput(stderr)
		fmt.Fprintln(stderr, "usage: nodeagent [flags]    run pods as local processes")
		for _, name := range []string{"status", "explain", "events", "logs", "exec", "dump"} {
			fmt.Fprintln(stderr, "       nodeagent", usages[name])
		}
		fmt.Fprintln(stderr, "       nodeagent serve ...                                the web server of the samples")
		fmt.Fprintln(stderr, "\nThe flags of the agent; a sub-command tells of its own with -h:")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		help()
		return o, err
	} else if err != nil { // without the whole help, which would hide it
		fmt.Fprintf(stderr, "nodeagent: %v; see nodeagent -h\n", err)
		return o, err
	}
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "settle-timeout" })
	if !given && o.manifests == "" && o.manifestURL == "" {
		o.settleTimeout /= 2 // one of the samples never gets ready
	}
	if err := o.check(fs.Args()); err != nil {
		fmt.Fprintln(stderr, "nodeagent:", err)
		return o, err
	}
	return o, nil
}

func (o *options) check(rest []string) error {
	if len(rest) > 0 && usages[rest[0]] != "" {
		return fmt.Errorf("a sub-command comes first: nodeagent %s [flags]", rest[0])
	}
	if len(rest) > 0 {
		return fmt.Errorf("%q is neither a flag nor a sub-command; see nodeagent -h", rest[0])
	}
	if err := checkOutput(o.output); err != nil {
		return err
	}
	if err := o.checkpoint.Validate(); err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	if net.ParseIP(o.nodeIP) == nil {
		return fmt.Errorf("--node-ip %s: not an address", o.nodeIP)
	}
	if msgs := validation.IsDNS1123Subdomain(o.nodeName); len(msgs) > 0 {
		return fmt.Errorf("--node-name %s: %s", o.nodeName, msgs[0])
	}
	if u, err := url.Parse(o.manifestURL); o.manifestURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("--manifest-url: not an http or https URL")
	}
	if o.settleTimeout <= 0 {
		return fmt.Errorf("--settle-timeout %s: must be more than zero", o.settleTimeout)
	}
	if _, err := o.eviction.Policy(); err != nil {
		return err
	}
	if slices.Contains(o.eviction.EnforceNodeAllocatable, "pods") {
		return errors.New("--enforce-node-allocatable pods: nothing bounds what processes together may use")
	}
	root, err := rootFolder(o.root)
	o.root = root
	return err
}

func checkOutput(form string) error {
	if form != "table" && form != "json" {
		return fmt.Errorf("-o %s: give table or json", form)
	}
	return nil
}

// rootFolder is the folder that --root names, or the fixed one.
func rootFolder(name string) (string, error) {
	if name == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder for this user, name one with --root: %w", err)
		}
		name = filepath.Join(cache, "kubeparts", "nodeagent")
	}
	root, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("--root %s: %w", name, err)
	}
	return root, nil
}

// usage turns an error of the flags into an exit status: asking for help is no
// mistake.
func usage(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	return exitUsage
}
