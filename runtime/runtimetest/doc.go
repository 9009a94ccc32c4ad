// Package runtimetest holds what stands in for a real container engine in
// tests: [Fake], a runtime.Runtime that behaves, [FakeBackend], the same one
// floor below, and a wrapper that injects faults into any Runtime
// ([Intercept]).
package runtimetest
