// Package synclooptest holds what stands in for the world around a sync loop in
// tests: [Sink], which remembers every status, [Store], which outlives an agent,
// and [Events], which keeps what users are told. All behave, and take faults
// from functions that a test gives them. For a runtime see package runtimetest.
//
// Whoever writes a store or a sink of their own has [TestStore] or [TestSink]
// check it.
package synclooptest
