package probetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
)

var targets = probetest.Targets{
	Healthy: &probe.Target{Container: "healthy", Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}},
	Sick:    &probe.Target{Container: "sick"},
	Absent:  &probe.Target{Container: "absent"},
	Hanging: &probe.Target{Container: "hanging"},
	Endless: &probe.Target{Container: "endless"},
	Verbose: &probe.Target{Container: "verbose"},
}

func scripted() *probetest.Prober {
	p := new(probetest.Prober)
	p.Script("sick", probetest.Answer{Response: probe.Response{Result: probe.Failure, Output: "500"}})
	p.Script("absent", probetest.Answer{Err: errors.New("no such container")})
	p.Script("endless", probetest.Answer{Hang: true})
	p.Script("hanging", probetest.Answer{Hang: true})
	p.Script("verbose", probetest.Answer{Response: probe.Response{
		Result: probe.Success, Output: strings.Repeat("x", probe.OutputLimit),
	}})
	return p
}

func TestScriptedProberKeepsTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, probetest.CheckProber(t.Context(), scripted(), targets))
	})
	probetest.TestProber(t, scripted(), targets)
}

func TestSuiteCatchesBrokenProbers(t *testing.T) {
	good := scripted()
	var once sync.Once
	broken := map[string]probe.Func{
		"healthy": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			if target.Container == "healthy" {
				return probe.Response{Result: probe.Unknown}, nil
			}
			return good.Probe(ctx, target)
		},
		"sick": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			if target.Container == "sick" {
				return probe.Response{Result: probe.Unknown}, errors.New("status 500")
			}
			return good.Probe(ctx, target)
		},
		"absent": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			if target.Container == "absent" {
				return probe.Response{Result: probe.Failure}, nil
			}
			return good.Probe(ctx, target)
		},
		"hanging": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			if target.Container == "hanging" {
				<-ctx.Done()
				return probe.Response{Result: probe.Success}, nil
			}
			return good.Probe(ctx, target)
		},
		"called-off": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			r, err := good.Probe(ctx, target)
			if errors.Is(err, context.Canceled) && target.Container == "hanging" {
				return probe.Response{Result: probe.Success}, nil
			}
			return r, err
		},
		"endless": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			if target.Container == "endless" {
				return probe.Response{Result: probe.Success, Output: strings.Repeat("x", 1<<20)}, nil
			}
			return good.Probe(ctx, target)
		},
		"read-only": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			if e := target.Action.Exec; e != nil {
				once.Do(func() { e.Command[0] = "sh" })
			}
			return good.Probe(ctx, target)
		},
		"ended": func(_ context.Context, target probe.Target) (probe.Response, error) {
			return good.Probe(context.Background(), target)
		},
		"verbose": func(ctx context.Context, target probe.Target) (probe.Response, error) {
			r, err := good.Probe(ctx, target)
			r.Output += "one byte more"
			return r, err
		},
	}
	for rule, p := range broken {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				given := targets
				healthy := *targets.Healthy
				healthy.Action = *healthy.Action.DeepCopy()
				given.Healthy = &healthy
				if rule == "ended" {
					// They would hang for good, which is the next test.
					given.Hanging, given.Endless = nil, nil
				}
				err := probetest.CheckProber(t.Context(), p, given)
				require.Contains(t, conformance.Broken(err), rule, "%v", err)
			})
		})
	}
}

func TestSuiteDoesNotWaitForeverForAProberThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		deaf := probe.Func(func(context.Context, probe.Target) (probe.Response, error) {
			<-release
			return probe.Response{}, nil
		})
		err := probetest.CheckProber(t.Context(), deaf, probetest.Targets{Hanging: targets.Hanging})
		require.ErrorContains(t, err, "hanging: it has not returned")
	})
}

func TestSuiteDoesNotPassOverNothing(t *testing.T) {
	require.ErrorContains(t, probetest.CheckProber(t.Context(), &probetest.Prober{}, probetest.Targets{}), "nothing is tested")
}

func TestSuiteNamesAPanic(t *testing.T) {
	boo := probe.Func(func(context.Context, probe.Target) (probe.Response, error) { panic("boo") })
	require.ErrorContains(t, probetest.CheckProber(t.Context(), boo, probetest.Targets{Sick: targets.Sick}), "it panicked: boo")
}

func ExampleProber() {
	p := new(probetest.Prober)
	p.Script("web",
		probetest.Answer{Response: probe.Response{Result: probe.Failure, Output: "starting"}},
		probetest.Answer{Response: probe.Response{Result: probe.Success, Output: "ok"}},
	)
	for range 3 {
		r, err := p.Probe(context.Background(), probe.Target{Container: "web"})
		fmt.Println(r.Result, r.Output, err)
	}
	// Output:
	// failure starting <nil>
	// success ok <nil>
	// success ok <nil>
}
