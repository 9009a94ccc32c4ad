package podmanager

import "errors"

// fresh returns the problems of a report that the one before did not have.
func (s *sourceRun) fresh(source string, r Report) []Problem {
	var fresh []Problem
	now := map[string]bool{}
	add := func(text string, p Problem) {
		if !s.problems[text] && !now[text] {
			fresh = append(fresh, p)
		}
		now[text] = true
	}
	for _, err := range split(r.Err) {
		add("error: "+err.Error(), Problem{Source: source, Err: err})
	}
	for _, warning := range r.Warnings {
		add("warning: "+warning, Problem{Source: source, Warning: warning})
	}
	s.problems = now
	return fresh
}

// split takes apart what errors.Join has put together. Other errors that wrap
// several have words of their own, and stay whole.
func split(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	parts := joined.Unwrap()
	if again := errors.Join(parts...); again == nil || again.Error() != err.Error() {
		return []error{err}
	}
	var all []error
	for _, e := range parts {
		all = append(all, split(e)...)
	}
	return all
}

func (c *PodConfig) tell(p Problem) {
	if c.config.OnProblem != nil {
		c.config.OnProblem(p)
	}
	if c.config.Logger == nil {
		return
	}
	if p.Source == "" {
		c.config.Logger.Error("pods are not written down", "err", p.Err)
	} else if p.Err != nil {
		c.config.Logger.Error("source has a problem", "source", p.Source, "err", p.Err)
	} else {
		c.config.Logger.Warn(p.Warning, "source", p.Source)
	}
}

// send sends and logs events, each once while it lasts: not those that the
// source's word before brought, too. It is for the dispatching goroutine alone.
func (c *PodConfig) send(source string, events []Event) {
	s := c.sources[source]
	sent := make(map[string]bool, len(events))
	for _, e := range events {
		if !s.sent[e.Message] && !sent[e.Message] {
			c.announce(source, e)
		}
		sent[e.Message] = true
	}
	s.sent = sent
}

func (c *PodConfig) announce(source string, e Event) {
	if c.config.Events != nil {
		c.config.Events.Eventf(e.Pod, e.Type, e.Reason, "%s", e.Message)
	}
	if c.config.Logger != nil {
		c.config.Logger.Warn("a pod is refused", "source", source, "reason", e.Reason, "message", e.Message)
	}
}
