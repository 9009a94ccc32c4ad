package main

import (
	"context"
	"log/slog"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// eventHandler is a [slog.Handler] that makes warnings of the parts events of
// the agent, so that they are seen where everything else is.
type eventHandler struct {
	events *eventLog
	attrs  []slog.Attr
}

// Enabled implements [slog.Handler].
func (h eventHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle implements [slog.Handler].
func (h eventHandler) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		text.WriteString(", " + a.String())
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.events.add(v1.EventTypeWarning, "agent", "Agent", text.String())
	return nil
}

// WithAttrs implements [slog.Handler].
func (h eventHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return h
}

// WithGroup implements [slog.Handler]: groups are not told.
func (h eventHandler) WithGroup(string) slog.Handler { return h }
