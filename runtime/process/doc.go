// Package process is a [runtime.Backend] whose containers are processes of the
// machine it runs on: what a node agent runs pods with where nothing else is
// installed.
//
// # The keeper
//
// The processes of a pod outlive the agent. Each sandbox has a keeper: the
// agent's own program, executed again in a session of its own. It is the
// parent of the pod's processes, holds the other end of their output, writes
// and rotates their logs, reaps them and records how they ended. An agent that
// is killed, upgraded or restarted finds its keepers again in the root folder,
// and with them the same processes. A keeper whose root was removed ends by itself
// within a minute once nothing runs any more.
//
//	agent ──▶ keeper of pod A ──▶ containers of A     root/s/ID/sandbox    who it is
//	  │           └─ log files, records ──────────▶   root/s/ID/c-ID       how each fares
//	  └─────▶ keeper of pod B ──▶ containers of B     root/s/ID/sock       its door
//
// The program needs to do nothing for this, not even in main: importing the
// package is enough. An init function sees that the process was started as a
// keeper, does a keeper's work and exits; main never runs, nor does the init of
// most packages that the program links. It works in test binaries, and after
// the program's file was replaced or removed: keepers are started from the
// image that runs, not from its path. A keeper of an older program serves a
// newer agent.
//
// A supervisor that kills all that a service started kills the keepers too. Under
// systemd, KillMode=process leaves them alone.
//
// # What it does not do
//
//   - Isolation: a process sees the files, the processes and the devices of the
//     machine, as far as its user may. Pods can harm each other.
//   - Limits: requests are counted by admission; limits are not enforced, and
//     nothing is ever reported as OOMKilled.
//   - Images: the name of an image means nothing. A container must have a
//     command, and its files must be there.
//   - Networks: a pod has the node's address, and its container ports are ports
//     of the machine ([HostPorts]). Nothing is filtered, nothing resolved.
//
// What a pod asks for and can't have is told before it runs: [Check] refuses a
// pod whose fields would be broken promises (another user without the right to
// change to it, a read-only root, capabilities, seccomp …), and [Ignored] names
// the fields that are passed over, for one event to the user.
//
// # What a process gets
//
// Its environment is what the spec gives and nothing of the agent's, besides:
//
//   - PATH, unless given: the usual folders of programs.
//   - HOME, unless given: the container's own folder.
//   - KUBEPARTS_MOUNT_<VOLUME>: the path of the volume on this machine. The
//     volume's name is upper-cased, and what is no letter or digit becomes "_".
//     A further mount of the same volume at another path has "_2" appended.
//   - KUBEPARTS_ID: which container it belongs to. It is how a process that
//     left its session and its parent is still found when the container ends.
//
// It starts in the container's working directory, which must exist, else in the
// container's own folder, with /dev/null as its input. It leads a session and a
// process group of its own. To stop it, the whole group gets SIGTERM or the
// container's stop signal, and at the end of the grace period everything that
// the container ever started gets SIGKILL. The same befalls what it left behind
// when it ends by itself: as with the first process of a PID namespace, the
// others end with it. On Linux this holds also for what called setsid; only a
// process that did so with an emptied environment lives on until the pod's last
// running container ends.
//
// Environments never reach the disk, an argument list or a log: they go from
// the agent to the keeper over its socket and stay in its memory.
//
// Linux is what it is made for and tested on, with root's rights or without.
// Other Unix systems compile and are untested: there a container is its process
// group and nothing more. On Windows, New says that it is not supported.
package process
