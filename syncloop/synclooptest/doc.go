// Package synclooptest holds what stands in for the world around a sync loop in
// tests: [Sink], which remembers every status, [Store], which outlives an agent,
// and [Events], which keeps what users are told. All behave, and take faults
// from functions that a test gives them. For a runtime see package runtimetest.
//
// Whoever writes a store, a sink or probes of their own has [TestStore], [TestSink] or
// [TestProbes] check it.
package synclooptest
