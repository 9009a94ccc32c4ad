package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
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
	name := r.FormValue("pod")
	if name == "" {
		writeJSONAnswer(w, c.events.last(keptEvents, anyObject))
		return
	}
	found := c.matching(name)
	events := c.events.last(keptEvents, func(object string) bool { return c.isPod(object, name, found) })
	if _, err := c.find(name); err != nil && (len(found) > 0 || len(events) == 0) {
		refuse(w, err)
		return
	}
	writeJSONAnswer(w, events)
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

// writeDump puts a dump into the root, for a person who sent SIGUSR1.
func (c *control) writeDump(root string, now time.Time) (path string, err error) {
	path = filepath.Join(root, "dump-"+now.UTC().Format("20060102-150405.000")+".json")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	return path, errors.Join(c.loop.Dump(f), f.Close())
}
