package main

import (
	"fmt"
	"time"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// life is one pod's life: a state, and a clock that stands still unless a walk
// moves it.
type life struct {
	lifecycle.State
	rules lifecycle.Rules
	now   time.Time
	page  *page
}

func newLife(p *page) *life {
	return &life{State: lifecycle.State{UID: newPod("web").UID}, now: noon, page: p}
}

// event sends an event, and shows it with what comes of it.
func (l *life) event(what string, e lifecycle.Event) {
	var actions []lifecycle.Action
	l.State, actions = l.rules.Step(l.State, e, l.now)
	l.page.in("%s", what)
	l.page.out("stage %s; %s", stageName(l.Stage), showLifeActions(actions))
}

// done sends the end of the work in force, or of the one with the number given.
func (l *life) done(what string, d lifecycle.Done) {
	if d.Seq == 0 {
		d.Seq = l.Seq
	}
	l.event(what, d)
}

func stageName(s lifecycle.Stage) string {
	if s == "" {
		return "none"
	}
	return string(s)
}

func showLifeActions(actions []lifecycle.Action) string {
	text := ""
	for _, a := range actions {
		if text != "" {
			text += ", then "
		}
		switch a := a.(type) {
		case lifecycle.Start:
			text += fmt.Sprintf("start work %d: %s", a.Seq, a.Work)
		case lifecycle.Cancel:
			text += fmt.Sprintf("cancel work %d", a.Seq)
		case lifecycle.AcquireName:
			text += "ask for the name"
		case lifecycle.ReleaseName:
			text += "give the name back"
		case lifecycle.Complete:
			text += fmt.Sprintf("tell who waits: %v", a.Waiters)
		case lifecycle.Recreate:
			text += "begin a new life"
		case lifecycle.Forget:
			text += "forget the pod"
		}
	}
	if text == "" {
		return "nothing to do"
	}
	return text
}
