// Package podruntime makes a [runtime.Runtime], which runs whole pods, out of
// any [runtime.Backend], which runs sandboxes and containers. It does what
// every pod needs whatever runs it, so that a backend stays small.
//
//	               SyncPod                                KillPod
//	                  │                                      │
//	   pod, status ─▶ Plan (pure, package runtime)           │
//	                  │                                      │
//	    ┌─────────────┼──────────────┐                       │
//	    ▼             ▼              ▼                       ▼
//	volumes,      images,       containers  ◀──────────── one stop a container:
//	folders       back-off      env, mounts,              event, preStop hook,
//	                │           hooks, logs               turn of the sidecars,
//	                │                │                    StopContainer
//	                ▼                ▼                       │
//	           ImagePuller        Backend ◀──────────────────┘
//
// # Folders
//
// All that a pod has on disk is under one root:
//
//	ROOT/pods/UID/volumes/VOLUME            an emptyDir, or what the agent fills
//	ROOT/pods/UID/secrets/VOLUME            the same with a Secret in it
//	ROOT/pods/UID/containers/NAME/N.message the termination message of instance N
//	ROOT/logs/NAMESPACE_NAME_UID/NAME/N.log the log of instance N, CRI lines
//
// # ConfigMaps and Secrets
//
// What Config.Objects gives reaches containers as environment, fixed when a
// container starts, and as volumes (configMap, secret, downwardAPI, projected),
// which each pass over the pod brings up to date: all files of a volume change in
// one step, by a link that is renamed; a subPath shows what it was when its
// container started. Volumes are read-only to containers, where the backend can
// see to that.
//
// The folder of secrets is a file system in memory where the agent may mount one
// (on Linux, as root), and a folder on disk otherwise. Where containers see the
// node's files, BackendLimits.SharedFiles, only the pod's user may enter it.
//
// # Ownership
//
// Every sandbox and container carries the label [OwnerLabel]. What carries
// another owner's name, or none, is neither listed nor touched, so that two
// agents, or an agent and a person, can share one backend.
//
// # Concurrency
//
// A Runtime is safe for concurrent use and owns no goroutine while nothing is
// being done. Containers of one pod start and stop in parallel where the rules
// allow. No lock is held over a call to the backend, a hook or the disk.
//
// Nothing needs to be remembered across a restart of the agent: labels,
// annotations and log names hold what is needed, and a new Runtime over the
// same backend and root goes on where the last one stood. Back-off is kept in
// memory; it is rebuilt from what is left of the containers, as
// [runtime.Backoff] says.
package podruntime
