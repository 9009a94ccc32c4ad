package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// suitePrograms are the behaviours that the suite asks for, as images.
func suitePrograms() (map[string]Program, runtimetest.Programs) {
	forever := func(ctx context.Context, _ runtime.ContainerConfig) int { <-ctx.Done(); return 0 }
	programs := map[string]Program{"forever": forever, "other": forever}
	for code := range 256 {
		programs[exits(int32(code)).Image] = func(context.Context, runtime.ContainerConfig) int { return code }
	}
	return programs, runtimetest.Programs{
		RunsForever: runtimetest.Program{Image: "forever"},
		Other:       runtimetest.Program{Image: "other"},
		ExitsWith:   exits,
		CantStart:   runtimetest.Program{Image: "unheard-of"},
	}
}

func exits(code int32) runtimetest.Program {
	return runtimetest.Program{Image: fmt.Sprintf("exit-%d", code)}
}

func TestBackendKeepsTheRules(t *testing.T) {
	runtimetest.TestBackend(t, func(t *testing.T) runtimetest.BackendHarness {
		programs, behaviours := suitePrograms()
		return runtimetest.BackendHarness{Backend: NewBackend(programs), Programs: behaviours}
	})
}
