package probe

// Wait says why a probe is not due at any time.
type Wait uint8

// The reasons of a Tracker to wait.
const (
	WaitNothing   Wait = iota // it is due at a time
	WaitContainer             // for an instance
	WaitRunning               // for the instance to run
	WaitStarted               // for the startup probe to succeed
	WaitAddress               // for the pod to have an address
	WaitInstance              // on hold: for another instance
	WaitEnded                 // for nothing: it is done
)

var waits = [...]string{
	WaitNothing:   "for its time",
	WaitContainer: "for a container",
	WaitRunning:   "for the container to run",
	WaitStarted:   "for the startup probe to succeed",
	WaitAddress:   "for an address",
	WaitInstance:  "for the next instance of the container",
	WaitEnded:     "for nothing, it has ended",
}

// String says it in words.
func (w Wait) String() string {
	if int(w) < len(waits) {
		return waits[w]
	}
	return "for what nobody knows"
}
