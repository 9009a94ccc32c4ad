// Package keeper is the process that stays with a pod: the parent of its
// containers, which outlives the agent that started it. Its init function takes
// the program over when it was started as a keeper, see package process.
//
// A keeper is one goroutine on the main thread that owns all its state and does
// all forking and reaping, so that a child can't be reaped before it is known,
// and so that the parent-death signal, which the kernel ties to a thread, holds.
// Around it: one goroutine for each connection and for each output pipe. It has
// no timers but those of stops and retries, and one of a minute that looks whether
// its folder is still there: an idle keeper costs next to no CPU.
//
// It links little: being early in the order of initialisation, it never pays
// for what the rest of the program initialises.
package keeper
