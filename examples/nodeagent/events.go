package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// eventLog prints events as lines and keeps the newest few for the live table.
// An event that says the same of the same object again is printed at a falling
// rate: the 1st, 2nd, 4th, 8th … time.
type eventLog struct {
	mu     sync.Mutex
	out    io.Writer // nil: keep only
	recent []string
	seen   map[string]int
}

const (
	recentEvents = 8
	// seenEvents bounds what is remembered of events that repeat.
	seenEvents = 10_000
)

func newEventLog(out io.Writer) *eventLog {
	return &eventLog{out: out, seen: make(map[string]int)}
}

// Eventf implements the library's EventRecorder.
func (l *eventLog) Eventf(object apiruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	l.add(eventtype, objectName(object), reason, fmt.Sprintf(messageFmt, args...))
}

// add prints time, type, object, Reason and message on one line.
func (l *eventLog) add(eventtype, object, reason, message string) {
	message = oneLine(message)
	l.mu.Lock()
	defer l.mu.Unlock()
	key := eventtype + "\x00" + object + "\x00" + reason + "\x00" + message
	if len(l.seen) >= seenEvents {
		clear(l.seen)
	}
	l.seen[key]++
	n := l.seen[key]
	if n&(n-1) != 0 {
		return
	}
	if n > 1 {
		message += fmt.Sprintf(" (%d times)", n)
	}
	line := fmt.Sprintf("%s %-7s %s %s: %s", time.Now().Format("15:04:05.000"), eventtype, object, reason, message)
	if l.recent = append(l.recent, line); len(l.recent) > recentEvents {
		l.recent = l.recent[1:]
	}
	if l.out != nil {
		fmt.Fprintln(l.out, line)
	}
}

// last returns the newest events, oldest first.
func (l *eventLog) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.recent...)
}

// objectName gives pod/namespace/name, with the container where the event is
// about one.
func objectName(object apiruntime.Object) string {
	switch o := object.(type) {
	case *v1.Pod:
		return "pod/" + o.Namespace + "/" + o.Name
	case *v1.Node:
		return "node/" + o.Name
	case *v1.ObjectReference:
		name := strings.ToLower(o.Kind) + "/" + o.Namespace + "/" + o.Name
		if _, container, ok := strings.Cut(o.FieldPath, "{"); ok {
			name += "/" + strings.TrimSuffix(container, "}")
		}
		return name
	default:
		return "object"
	}
}

// oneLine keeps what a manifest's author or a process wrote from moving the
// cursor or making lines of its own.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return -1
		}
		return r
	}, strings.TrimSpace(s))
}
