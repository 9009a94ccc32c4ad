package runtime_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime"
)

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestExpand(t *testing.T) {
	vars := lookup(map[string]string{"A": "1", "B": "$(A)", "EMPTY": "", "a b": "spaced", "$": "dollar"})
	for in, want := range map[string]string{
		"":                "",
		"plain":           "plain",
		"$(A)":            "1",
		"x$(A)y$(A)":      "x1y1",
		"$(EMPTY)":        "",
		"$(B)":            "$(A)", // what was put in is not expanded
		"$(UNKNOWN)":      "$(UNKNOWN)",
		"$(UNKNOWN)$(A)":  "$(UNKNOWN)1",
		"$$":              "$",
		"$$(A)":           "$(A)",
		"$$$(A)":          "$1",
		"$$$$(A)":         "$$(A)",
		"$(A":             "$(A",
		"$(A$(A)":         "$(A$(A)", // one name that is not known: A$(A
		"$":               "$",
		"A$":              "A$",
		"$A ${A}":         "$A ${A}",
		"$()":             "$()",
		"$(a b)":          "spaced",
		"$($)":            "dollar",
		"100$ and $(A)":   "100$ and 1",
		"$(A)$":           "1$",
		"$(UNKNOWN$$(A))": "$(UNKNOWN$$(A))",
		"$(A)$(B$$$$$(C$": "1$(B$$$(C$", // what is escaped behind a reference without its end
	} {
		require.Equal(t, want, runtime.Expand(in, vars), in)
	}
}

// A manifest of some megabytes must not take minutes.
func TestExpandTakesTimeOfItsLength(t *testing.T) {
	open := strings.Repeat("$(", 1<<22)
	require.True(t, open == runtime.Expand(open, lookup(nil)))
	unknown := strings.Repeat("$(A)", 1<<20)
	require.True(t, unknown == runtime.Expand(unknown, lookup(nil)))
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"", "$(A)", "$$(A)", "$(A", "$$$", "x$(B)y", "$(A)$(A)", "$()"} {
		f.Add(s, "value")
	}
	f.Fuzz(func(t *testing.T, s, value string) {
		escaped := strings.ReplaceAll(s, "$", "$$")
		vars := func(string) (string, bool) { return value, true }
		require.Equal(t, s, runtime.Expand(escaped, vars), "what is escaped comes out as it was")

		if !strings.Contains(s, "$(") {
			require.Equal(t, strings.ReplaceAll(s, "$$", "$"), runtime.Expand(s, vars))
		}
		require.LessOrEqual(t, len(runtime.Expand(s, lookup(nil))), len(s), "nothing known, nothing added")
		require.LessOrEqual(t, len(runtime.Expand(s, vars)), len(s)*(len(value)+1))
	})
}
