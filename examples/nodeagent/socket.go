package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"
)

// socketOf is the path of the control socket.
func socketOf(root string) string { return filepath.Join(root, "agent.sock") }

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

// patient lets an answer take longer than a question may. Once it is given, what
// is left of the question is not waited for any longer.
func patient(w http.ResponseWriter) (done func()) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{})
	return func() { _ = connection.SetReadDeadline(time.Now().Add(askTimeout)) }
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
