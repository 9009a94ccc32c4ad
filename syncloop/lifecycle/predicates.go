package lifecycle

// The predicates answer what others ask about a pod. A nil state is a pod that
// the loop does not know; synced tells whether the loop has once compared all it
// knows with what its sources say, before which not knowing a pod means nothing.

// KnownTerminated tells whether nothing of the pod runs, for certain. It is for
// admission: an unknown pod is not known to be terminated.
func KnownTerminated(s *State) bool {
	return s != nil && (s.Stage == Terminated || s.Stage == Finished)
}

// CouldHaveRunningContainers tells whether a container of the pod may run. It
// holds back a terminal phase.
func CouldHaveRunningContainers(s *State, synced bool) bool {
	if s == nil || s.Stage == "" {
		return !synced
	}
	return !KnownTerminated(s)
}

// ContainersShouldBeTerminating tells whether nothing may be set up for the
// pod any more.
func ContainersShouldBeTerminating(s *State, synced bool) bool {
	if s == nil || s.Stage == "" {
		return synced
	}
	return s.Acknowledged || KnownTerminated(s)
}

// RuntimeShouldBeRemoved tells whether what the pod holds may be taken away:
// its volumes, its networks.
func RuntimeShouldBeRemoved(s *State, synced bool) bool {
	if s == nil || s.Stage == "" {
		return synced
	}
	return KnownTerminated(s)
}
