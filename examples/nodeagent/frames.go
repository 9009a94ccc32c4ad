package main

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// frames writes what a command prints as one JSON object a line, so that both
// of its streams and its exit code fit through one connection.
type frames struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func newFrames(w http.ResponseWriter) *frames { return &frames{enc: json.NewEncoder(flushing{w})} }

func (f *frames) send(frame execFrame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.enc.Encode(frame)
}

// writer makes a stream of frames.
func (f *frames) writer(frame func([]byte) execFrame) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if err := f.send(frame(p)); err != nil {
			return 0, err
		}
		return len(p), nil
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
