package simtest_test

import (
	"testing"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/simtest"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// A host lets its own parts live through a thousand nodes' lives in a test.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestNode(t *testing.T)
		simtest.Run(t, simtest.Config{
			// An empty one each time; these are the defaults.
			Runtime: func() runtime.Runtime {
				return runtimetest.NewFake(runtimetest.FakeConfig{Script: simtest.Script})
			},
			Store:  func() syncloop.Store { return &synclooptest.Store{} },
			Checks: []admission.Check{{Name: "NodeFit", Handler: admission.NodeFit{}}},
		}, 1, 1000)
	}
	// Output:
}
