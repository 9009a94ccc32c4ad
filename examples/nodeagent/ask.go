package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubeparts/kubeparts/syncloop"
)

// asks are the sub-commands that speak to a running agent.
var asks = map[string]func(context.Context, *client, []string) error{
	"status":  askStatus,
	"explain": askExplain,
	"events":  askEvents,
	"logs":    askLogs,
	"exec":    askExec,
	"dump":    askDump,
}

// usageError is an error of the command line, in words.
type usageError string

func (e usageError) Error() string { return string(e) }

// exitCode is an error that says how a command inside a container ended.
type exitCode int

func (e exitCode) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// ask runs a sub-command and returns the exit status.
func ask(name string, args []string, stdout, stderr io.Writer) int {
	c := &client{output: "table", stdout: stdout, stderr: stderr}
	fs := flag.NewFlagSet("nodeagent "+name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&c.root, "root", "", "`folder` of the agent (default: the same as the agent's)")
	switch name {
	case "status", "explain", "events":
		fs.StringVar(&c.output, "o", "table", "`table or json`")
	case "logs":
		fs.BoolVar(&c.follow, "f", false, "go on with what the container writes")
		fs.IntVar(&c.tail, "tail", 0, "`lines` from the end (default: all)")
	}
	fs.Usage = func() {
		fmt.Fprintln(c.stderr, "usage: nodeagent", usages[name])
		fs.PrintDefaults()
	}
	names, err := parseAnywhere(fs, args)
	if err != nil {
		return usage(err)
	}
	if err := checkOutput(c.output); err != nil {
		c.fail(err)
		return exitUsage
	}
	root, err := rootFolder(c.root)
	if err != nil {
		return c.fail(err)
	}
	c.root = root
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return dialAgent(c.root) },
		DisableKeepAlives: true,
	}}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = asks[name](ctx, c, names)
	var code exitCode
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		c.fail(err)
		fs.Usage()
		return exitUsage
	case errors.As(err, &code):
		return int(code)
	case err != nil && ctx.Err() == nil:
		return c.fail(err)
	}
	return exitOK
}

// parseAnywhere reads flags before, between and behind names, up to "--", and
// returns the rest.
func parseAnywhere(fs *flag.FlagSet, args []string) (names []string, err error) {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	for args, rest := args[:end], args[end:]; ; {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return append(names, rest...), nil
		}
		names, args = append(names, fs.Arg(0)), fs.Args()[1:]
	}
}

// usages are the forms of the sub-commands.
var usages = map[string]string{
	"status":  "status [flags]                           pods and health of a running agent",
	"explain": "explain [flags] POD                      what the agent does for a pod, and why",
	"events":  "events [flags] [POD]                     what happened lately",
	"logs":    "logs [flags] POD [CONTAINER]             what a container wrote",
	"exec":    "exec [flags] POD [CONTAINER] -- COMMAND  run a command in a container",
	"dump":    "dump [flags]                             all that the agent knows, as JSON",
}

func askStatus(ctx context.Context, c *client, args []string) error {
	if len(args) > 0 {
		return noName(args)
	}
	var got answer
	if printed, err := c.fetch(ctx, "/status", nil, &got); printed || err != nil {
		return err
	}
	if err := writeTable(c.stdout, got.Pods, got.FailingProbes, time.Now()); err != nil {
		return err
	}
	fmt.Fprintln(c.stdout)
	if err := writeConditions(c.stdout, got.Node, time.Now()); err != nil {
		return err
	}
	fmt.Fprintln(c.stdout)
	return writeHealth(c.stdout, got.Health, time.Now())
}

func askExplain(ctx context.Context, c *client, args []string) error {
	if len(args) != 1 {
		return usageError("name one pod")
	}
	var got syncloop.Explanation
	if printed, err := c.fetch(ctx, "/explain", url.Values{"pod": args}, &got); printed || err != nil {
		return err
	}
	for _, line := range got.Lines {
		fmt.Fprintln(c.stdout, oneLine(line))
	}
	return nil
}

func askEvents(ctx context.Context, c *client, args []string) error {
	if len(args) > 1 {
		return usageError("name one pod, or none for all events")
	}
	var got []event
	if printed, err := c.fetch(ctx, "/events", url.Values{"pod": args}, &got); printed || err != nil {
		return err
	}
	for _, e := range got {
		fmt.Fprintln(c.stdout, e)
	}
	if len(got) == 0 {
		fmt.Fprintln(c.stderr, "No events.")
	}
	return nil
}

func askLogs(ctx context.Context, c *client, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return usageError("name a pod, and a container if it has several")
	}
	query := url.Values{"pod": args[:1], "container": args[1:], "tail": {strconv.Itoa(c.tail)}}
	if c.follow {
		query.Set("follow", "1")
	}
	return c.print(ctx, "/logs", query)
}

func askExec(ctx context.Context, c *client, args []string) error {
	names, command := args, []string(nil)
	for i, arg := range args {
		if arg == "--" {
			names, command = args[:i], args[i+1:]
			break
		}
	}
	if len(names) < 1 || len(names) > 2 || len(command) == 0 {
		return usageError(`name a pod, and behind "--" a command`)
	}
	request, err := json.Marshal(execRequest{Command: command})
	if err != nil {
		return err
	}
	body, err := c.get(ctx, http.MethodPost, "/exec", url.Values{"pod": names[:1], "container": names[1:]}, bytes.NewReader(request))
	if err != nil {
		return err
	}
	defer body.Close()
	for frames := json.NewDecoder(body); ; {
		var f execFrame
		if err := frames.Decode(&f); err != nil {
			return fmt.Errorf("the agent hung up: %w", err)
		}
		_, _ = c.stdout.Write(f.Stdout)
		_, _ = c.stderr.Write(f.Stderr)
		switch {
		case f.Error != "":
			return errors.New(f.Error)
		case f.Exit != nil && *f.Exit != 0:
			return exitCode(*f.Exit)
		case f.Exit != nil:
			return nil
		}
	}
}

// noName is the answer to a name where none is asked for.
func noName(args []string) error {
	return usageError(fmt.Sprintf("%q is not asked for", strings.Join(args, " ")))
}

func askDump(ctx context.Context, c *client, args []string) error {
	if len(args) > 0 {
		return noName(args)
	}
	body, err := c.get(ctx, http.MethodGet, "/dump", nil, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(plainJSON(data))
	return err
}
