package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// event is one line that a person reads.
type event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Object  string    `json:"object"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}

func (e event) String() string {
	return fmt.Sprintf("%s %-7s %s %s: %s", e.Time.Format("15:04:05.000"), e.Type, e.Object, e.Reason, e.Message)
}

// eventLog prints events as lines and keeps the newest. An event that says the
// same of the same object again is printed and kept at a falling rate: the 1st,
// 2nd, 4th, 8th … time.
type eventLog struct {
	mu   sync.Mutex
	out  io.Writer // nil: keep only
	kept []event
	seen map[string]int
}

const (
	// keptEvents is how many events can be asked for.
	keptEvents = 1000
	// seenEvents bounds what is remembered of events that repeat.
	seenEvents = 10_000
	// eventBytes bounds a message, of which so many are remembered.
	eventBytes = 4 << 10
)

func newEventLog(out io.Writer) *eventLog {
	return &eventLog{out: out, seen: make(map[string]int)}
}

// Eventf implements the library's EventRecorder.
func (l *eventLog) Eventf(object apiruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	l.add(eventtype, objectName(object), reason, fmt.Sprintf(messageFmt, args...))
}

func (l *eventLog) add(eventtype, object, reason, message string) {
	if len(message) > eventBytes {
		message = strings.ToValidUTF8(message[:eventBytes], "") + "…"
	}
	e := event{Time: time.Now(), Type: eventtype, Object: object, Reason: reason, Message: oneLine(message)}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := strings.Join([]string{e.Type, e.Object, e.Reason, e.Message}, "\x00")
	if len(l.seen) >= seenEvents {
		clear(l.seen)
	}
	l.seen[key]++
	n := l.seen[key]
	if n&(n-1) != 0 {
		return
	}
	if n > 1 {
		e.Message += fmt.Sprintf(" (%d times)", n)
	}
	if len(l.kept) == keptEvents {
		l.kept = append(l.kept[:0], l.kept[1:]...)
	}
	l.kept = append(l.kept, e)
	if l.out != nil {
		fmt.Fprintln(l.out, e)
	}
}

// last returns the newest n events about the objects that are meant, oldest first.
func (l *eventLog) last(n int, about func(object string) bool) []event {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := []event{}
	for _, e := range slices.Backward(l.kept) {
		if len(found) == n {
			break
		}
		if about(e.Object) {
			found = append(found, e)
		}
	}
	slices.Reverse(found)
	return found
}

// anyObject is for who wants the events about all objects.
func anyObject(string) bool { return true }

// objectName gives pod/namespace/name, with the container where the event is
// about one.
func objectName(object apiruntime.Object) string {
	switch o := object.(type) {
	case *v1.Pod:
		return "pod/" + o.Namespace + "/" + o.Name
	case *v1.Node:
		return "node/" + o.Name
	case *v1.ObjectReference:
		name := strings.ToLower(o.Kind) + "/"
		if o.Namespace != "" {
			name += o.Namespace + "/"
		}
		name += o.Name
		if _, container, ok := strings.Cut(o.FieldPath, "{"); ok {
			name += "/" + strings.TrimSuffix(container, "}")
		}
		return name
	default:
		return "object"
	}
}

// oneLine keeps what a manifest's author or a process wrote from moving the
// cursor, making lines of its own, or reading otherwise than it is written.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, strings.TrimSpace(s))
}
