package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/syncloop"
)

// statusFile is a StatusSink that writes each status as a line, after those of
// agents before.
type statusFile struct {
	mu sync.Mutex
	f  *os.File
}

// statusLine is what is said of one pod at one time.
type statusLine struct {
	Time     time.Time         `json:"time"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   *v1.PodStatus     `json:"status"`
}

func openStatusFile(path string) (*statusFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--statuses: %w", err)
	}
	return &statusFile{f: f}, nil
}

// SetStatus implements [syncloop.StatusSink].
func (s *statusFile) SetStatus(_ context.Context, u syncloop.StatusUpdate) error {
	line, err := json.Marshal(statusLine{
		Time:     time.Now(),
		Metadata: metav1.ObjectMeta{Namespace: u.Pod.Namespace, Name: u.Pod.Name, UID: u.Pod.UID},
		Status:   u.Status,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.f.Write(append(line, '\n'))
	return err
}
