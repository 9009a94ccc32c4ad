package syncloop

import "time"

// ShutdownOptions say how [SyncLoop.Shutdown] stops the pods.
type ShutdownOptions struct {
	// Grace is the most that a pod gets; zero leaves each its own.
	Grace time.Duration
	// Now kills what still runs at once.
	Now bool
	// Remove removes what the runtime keeps of each pod once it has stopped:
	// volumes, logs, dead containers.
	Remove bool
}
