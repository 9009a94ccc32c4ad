package simtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two runs of a seed are the same run, step by step, whatever Go's scheduler does.
func TestSameSeedSameRun(t *testing.T) {
	cfg := Config{}.withDefaults()
	for seed := uint64(1); seed <= 20; seed++ {
		cfg.Pressure, cfg.Preempt, cfg.Resizes, cfg.Probes = seed > 15, seed%3 == 1, seed%3 == 2, seed%2 == 1
		cfg.Hooks = seed%4 > 1
		var traces [2]trace
		for i := range traces {
			liveThrough(t, cfg, newPlan(seed, cfg), &traces[i])
		}
		require.NotEmpty(t, traces[0].lines)
		require.Equal(t, traces[0].lines, traces[1].lines)
	}
}

// A plan from which events are left out is still a plan: no event needs another.
func TestAnyPartOfAPlanIsAPlan(t *testing.T) {
	cfg := Config{}.withDefaults()
	for seed := uint64(1); seed <= 10; seed++ {
		cfg.Probes, cfg.Hooks = seed > 5, seed%2 == 0
		whole := newPlan(seed, cfg)
		for part := range uint64(3) {
			p := *whole
			p.events = nil
			d := newDraw(seed, 100+part)
			for _, e := range whole.events {
				if d.chance(50) {
					p.events = append(p.events, e)
				}
			}
			broken, _ := liveThrough(t, cfg, &p, nil)
			require.Nil(t, broken)
		}
	}
}
