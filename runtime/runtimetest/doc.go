// Package runtimetest holds what stands in for a container engine in tests, and
// what tests one.
//
// Two fakes behave, in memory and in no time: containers start, exit, are
// restarted with a growing count and stop within their grace. A [Script] says
// how each behaves; a manifest can carry it as its command.
//
//	            real                       in memory
//	whole pods  podruntime over a Backend  Fake         implements runtime.Runtime
//	containers  process, …                 FakeBackend  implements runtime.Backend
//
// [Intercept] puts faults around any Runtime: errors, delays, calls that hang,
// calls that take effect and seem to fail, lies. For a Backend, embed it and
// override a method.
//
// Two suites check that an implementation keeps its contract: [TestRuntime] and
// [TestBackend] as subtests, [CheckRuntime] and [CheckBackend] as an error. Each
// case is one sentence of the contract, printed when it is broken. The host says
// what its containers can do ([Programs]); rules that need what it can't, or that
// a limit makes void, are skipped, and a line says so. A Backend of processes
// needs no more than this:
//
//	func TestMyBackendKeepsTheRules(t *testing.T) {
//		runtimetest.TestBackend(t, func(t *testing.T) runtimetest.BackendHarness {
//			b, err := process.New(process.Config{Root: t.TempDir()})
//			…
//			return runtimetest.BackendHarness{
//				Backend:  b,
//				Programs: runtimetest.ShellPrograms("any"),
//				LogDir:   t.TempDir(),
//				Close:    b.Close,
//			}
//		})
//	}
//
// Everything here waits on timers and channels, so that it runs in real time and
// in a bubble of testing/synctest alike.
package runtimetest
