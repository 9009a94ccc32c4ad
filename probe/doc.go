// Package probe answers: does it work?
//
// A [Prober] asks one container once and says what it found. What came back
// and what went wrong on the way are kept apart: a server that answers 500 is a
// Failure with an output, a port name that does not exist is an error.
//
//	Target ──▶ Prober.Probe ──▶ Response{Result, Output}   the container spoke
//	                        └─▶ error                      nobody could ask it
//
// A scripted prober and a suite for your own are in package probetest. The
// tracker, the manager and the HTTP, TCP and exec probers are not here yet.
package probe
