package podstatus

// IllegalTransition says that a container which had ended for good, by its
// restart policy and rules, would be said not to be. The kubelet drops such an
// update as a whole; it points at a runtime that forgot or invented something.
type IllegalTransition struct {
	Container string
}

// Error names the container.
func (e *IllegalTransition) Error() string {
	return "container " + e.Container + " ended for good and can't leave its terminated state"
}
