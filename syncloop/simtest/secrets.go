package simtest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeparts/kubeparts/syncloop"
)

// checkRecord sees that what is kept of a pod holds no secrets.
func (w *world) checkRecord(r *syncloop.Record) {
	if text := leak(r.Status); text != "" {
		w.fail(KeepsSecrets, "the record of pod %s says %q", r.UID, text)
	}
	if r.Verdict != nil && strings.Contains(r.Verdict.Message, secret) {
		w.fail(KeepsSecrets, "the record of pod %s says %q", r.UID, r.Verdict.Message)
	}
}

// leak returns a text of the status that holds a secret.
func leak(s *v1.PodStatus) string {
	if s == nil {
		return ""
	}
	texts := []string{s.Message, s.Reason}
	for i := range s.Conditions {
		texts = append(texts, s.Conditions[i].Message)
	}
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			for _, state := range []v1.ContainerState{list[i].State, list[i].LastTerminationState} {
				if state.Waiting != nil {
					texts = append(texts, state.Waiting.Message)
				}
				if state.Terminated != nil {
					texts = append(texts, state.Terminated.Message)
				}
			}
		}
	}
	for _, text := range texts {
		if strings.Contains(text, secret) {
			return text
		}
	}
	return ""
}

// recorder takes events, and logs lines, and looks for secrets in them.
type recorder struct{ *world }

func (r recorder) Eventf(_ apiruntime.Object, _, reason, format string, args ...any) {
	r.heard("an event", reason+" "+fmt.Sprintf(format, args...))
}

type logs struct{ *world }

func (logs) Enabled(context.Context, slog.Level) bool { return true }
func (l logs) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l logs) WithGroup(string) slog.Handler          { return l }

func (l logs) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		l.heard("the log", a.Value.String())
		return true
	})
	l.heard("the log", r.Message)
	return nil
}

// heard looks for secrets in what users and operators are told.
func (w *world) heard(where, text string) {
	if strings.Contains(text, secret) {
		w.mu.Lock()
		w.leaked = where + " says " + text
		w.mu.Unlock()
	}
}
