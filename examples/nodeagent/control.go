package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// control answers what people ask a running agent, over a socket in its root
// that only the same user may speak to.
type control struct {
	node    *v1.Node
	loop    *syncloop.SyncLoop
	probes  *probe.Manager
	runtime *podruntime.Runtime
	evictor *evictor
	events  *eventLog
}

const (
	// askLimit bounds how many are answered at a time: a pod's process of the same
	// user may connect, and must not use up the agent's descriptors.
	askLimit = 64
	// askTimeout bounds the time that a question takes, and the wait for a next one.
	askTimeout = 5 * time.Second
)

// serveControl listens until the context ends, and returns once the socket can
// be spoken to.
func serveControl(ctx context.Context, root string, c *control) (done <-chan struct{}, err error) {
	listener, err := listenOwn(root)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", c.status)
	mux.HandleFunc("GET /explain", c.explain)
	mux.HandleFunc("GET /events", c.recent)
	mux.HandleFunc("GET /logs", c.logs)
	mux.HandleFunc("POST /exec", c.exec)
	mux.HandleFunc("GET /dump", c.dump)
	server := &http.Server{
		Handler:     mux,
		ReadTimeout: askTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(fewAtATime{listener, make(chan struct{}, askLimit)})
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return ended, nil
}

// fewAtATime wraps a listener so that a connection waits until there is a place
// for it.
type fewAtATime struct {
	net.Listener
	places chan struct{}
}

func (l fewAtATime) Accept() (net.Conn, error) {
	l.places <- struct{}{}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placed{Conn: conn, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// placed is a connection that gives its place back.
type placed struct {
	net.Conn
	leave func()
}

func (c *placed) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// answer is what `status -o json` prints.
type answer struct {
	Node   *v1.Node               `json:"node"`
	Pods   []*v1.Pod              `json:"pods"`
	Health []syncloop.HealthCheck `json:"health"`
	// FailingProbes is what probes found wrong last, by the pod's UID.
	FailingProbes map[types.UID]string `json:"failingProbes"`
}

func (c *control) status(w http.ResponseWriter, _ *http.Request) {
	writeJSONAnswer(w, answer{
		Node: c.evictor.nodeNow(), Pods: podsOf(c.loop),
		Health:        c.loop.Health(),
		FailingProbes: failing(c.loop, c.probes),
	})
}

func (c *control) explain(w http.ResponseWriter, r *http.Request) {
	view, err := c.find(r.FormValue("pod"))
	if err != nil {
		refuse(w, err)
		return
	}
	explanation, ok := c.loop.Explain(view.UID)
	if !ok {
		refuse(w, fmt.Errorf("pod %s has just gone", r.FormValue("pod")))
		return
	}
	writeJSONAnswer(w, explanation)
}

func (c *control) recent(w http.ResponseWriter, r *http.Request) {
	object := ""
	if name := r.FormValue("pod"); name != "" {
		view, err := c.find(name)
		if err != nil {
			refuse(w, err)
			return
		}
		object = "pod/" + view.Namespace + "/" + view.Name
	}
	writeJSONAnswer(w, c.events.last(keptEvents, object))
}

func (c *control) logs(w http.ResponseWriter, r *http.Request) {
	x, err := c.container(r)
	if err != nil {
		refuse(w, err)
		return
	}
	tail, _ := strconv.Atoi(r.FormValue("tail"))
	defer patient(w)()
	log, err := c.runtime.Logs(r.Context(), x.id, runtime.LogOptions{Follow: r.FormValue("follow") != "", TailLines: tail})
	if err != nil {
		refuse(w, fmt.Errorf("%s: %w", x, err))
		return
	}
	defer log.Close()
	_, _ = io.Copy(flushing{w}, log)
}

// execRequest is the body of POST /exec, execFrame a line of its answer.
type execRequest struct{ Command []string }

type execFrame struct {
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	Exit   *int   `json:"exit,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (c *control) exec(w http.ResponseWriter, r *http.Request) {
	x, err := c.container(r)
	var req execRequest
	if err == nil {
		err = json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&req)
	}
	if err == nil && len(req.Command) == 0 {
		err = errors.New("no command")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	defer patient(w)()
	frames := newFrames(w)
	code, err := c.runtime.Exec(r.Context(), x.id, req.Command, runtime.ExecIO{
		Stdout: frames.writer(func(p []byte) execFrame { return execFrame{Stdout: p} }),
		Stderr: frames.writer(func(p []byte) execFrame { return execFrame{Stderr: p} }),
	})
	if err != nil {
		frames.send(execFrame{Error: x.noExec(err).Error()})
		return
	}
	frames.send(execFrame{Exit: &code})
}

func (c *control) dump(w http.ResponseWriter, _ *http.Request) {
	if err := c.loop.Dump(w); err != nil {
		refuse(w, err)
	}
}

// patient lets an answer take longer than a question may. Once it is given, what
// is left of the question is not waited for any longer.
func patient(w http.ResponseWriter) (done func()) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{})
	return func() { _ = connection.SetReadDeadline(time.Now().Add(askTimeout)) }
}

// find resolves what a person calls a pod: its name with or without the
// namespace, with or without the node's name behind it, or its UID.
func (c *control) find(name string) (*syncloop.PodView, error) {
	if name == "" {
		return nil, errors.New("name a pod")
	}
	var found []*syncloop.PodView
	for _, v := range c.loop.Pods() {
		short := strings.TrimSuffix(v.Name, "-"+c.node.Name)
		switch name {
		case v.Name, short, v.Namespace + "/" + v.Name, v.Namespace + "/" + short, string(v.UID):
			found = append(found, v)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no pod is called %s%s", name, c.failingSources())
	case 1:
		return found[0], nil
	default:
		var names []string
		for _, v := range found {
			names = append(names, v.Namespace+"/"+v.Name+" ("+string(v.UID)+")")
		}
		return nil, fmt.Errorf("%s may be any of %s", name, strings.Join(names, ", "))
	}
}

// failingSources says which sources may have a pod that is not there.
func (c *control) failingSources() (text string) {
	for _, check := range c.loop.Health() {
		if strings.HasPrefix(check.Name, "source ") && !check.OK {
			text += "; " + check.Name + " fails: see nodeagent events"
		}
	}
	return text
}

func writeJSONAnswer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// refuse answers with an error in words.
func refuse(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusBadRequest)
}

// flushing sends each piece on at once.
type flushing struct{ w http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if flusher, ok := f.w.(http.Flusher); ok {
		flusher.Flush()
	}
	return n, err
}

// socketOf is the path of the control socket.
func socketOf(root string) string { return filepath.Join(root, "agent.sock") }

// writeDump puts a dump into the root, for a person who sent SIGUSR1.
func (c *control) writeDump(root string, now time.Time) (path string, err error) {
	path = filepath.Join(root, "dump-"+now.UTC().Format("20060102-150405.000")+".json")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	return path, errors.Join(c.loop.Dump(f), f.Close())
}
