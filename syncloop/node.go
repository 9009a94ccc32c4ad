package syncloop

// NodeChanged says that what Admission.Nodes answers has changed: the node grew,
// say, or lost a taint. Pods that wait to be let in are asked for again within a
// second, and resizes that wait are tried; without it both happen at their own
// times, for resizes every 3 minutes. Nodes and Reservers that were left alone since
// they gave no answer are asked again. What runs is not judged again. It does not
// block, may be called from any goroutine, and costs nothing while nobody waits.
func (l *SyncLoop) NodeChanged() {
	if l.nodeChanged.Swap(true) {
		return // the loop has not heard of the last time yet
	}
	l.inbox.post(func() {
		l.nodeChanged.Store(false)
		if l.cfg.Admission != nil {
			l.cfg.Admission.Patience.Forget()
		}
		l.resizes.WakeAll()
		l.askAgain()
	})
}
