// Package probe answers: does it work?
//
// A [Prober] asks one container once and says what it found. What came back and
// what went wrong on the way are kept apart: a server that answers 500 is a
// Failure with an output, a port name that does not exist is an error. [HTTP],
// [TCP] and [Exec] are probers, [Probers] chooses among them, and package grpcprobe
// (a module of its own) has the one for gRPC.
//
// A [Tracker] is one probe over time as plain data, without a clock: when the next
// attempt is due, and what verdict the attempts make.
//
// A [Manager] probes many containers. It has one heap of due times and one timer,
// and goroutines only while attempts are in flight. A host tells it what it knows
// and takes what changed:
//
//	Set(pod, containers) ──▶ Tracker.Look ──▶ heap of due times ──▶ Prober.Probe
//	                              ▲                                     │
//	                              └──────────── Tracker.Record ◀────────┘
//	Changed, Take ◀── verdicts that changed ◀────────┘
//
// [PodContainers] makes that set of a v1.Pod and its last status; a host with
// another idea of containers fills in [Container] by itself.
//
// # What a manifest's author can do
//
// Who writes a pod's manifest chooses where its probes go, host and port, with
// which path and headers, and which command runs in his container. So this agent
// can be made to ask other hosts, as the kubelet can. Time, bytes, redirects and
// attempts in flight are bounded; a [Dialer] of the host's own bounds where they
// go. What a container says is cut, and control characters are escaped before it
// reaches an event.
//
// A scripted prober, a driver of trackers for tests and a suite for probers of
// one's own are in package probetest. What it costs is measured by
//
//	go run ./probe/internal/probebench -kind http
package probe
