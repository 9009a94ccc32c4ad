package eviction

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// AddFlags defines the kubelet's flags of eviction in fs: they write to s. A
// map that is given on the command line replaces the one that s had; the same
// flag given twice adds to the first.
func (s *Settings) AddFlags(fs *flag.FlagSet) {
	hard := "eviction `thresholds`, as memory.available<1Gi,nodefs.available<10%; empty for none"
	if s.Hard == nil { // else package flag tells the default
		kubelets := DefaultHard()
		hard += " (default " + (&pairsFlag{to: &kubelets, separator: "<"}).String() + ")"
	}
	fs.Var(&pairsFlag{to: &s.Hard, separator: "<"}, "eviction-hard", hard)
	fs.Var(&pairsFlag{to: &s.Soft, separator: "<"}, "eviction-soft",
		"eviction `thresholds` that must be met for a grace period, as memory.available<1.5Gi")
	fs.Var(&pairsFlag{to: &s.SoftGracePeriod, separator: "="}, "eviction-soft-grace-period",
		"grace `periods` of soft thresholds, as memory.available=1m30s")
	fs.Var(&pairsFlag{to: &s.MinimumReclaim, separator: "="}, "eviction-minimum-reclaim",
		"`amounts` beyond a threshold that must be free before it counts as over, as imagefs.available=2Gi")
	fs.DurationVar(&s.PressureTransitionPeriod.Duration, "eviction-pressure-transition-period",
		s.PressureTransitionPeriod.Duration, "how long a pressure condition outlasts the pressure; 0 is 5m")
	fs.Var((*int32Flag)(&s.MaxPodGracePeriod), "eviction-max-pod-grace-period",
		"the most `seconds` that a pod gets for a soft threshold; negative leaves it its own")
	fs.Func("enforce-node-allocatable", "`list` of what hard memory thresholds are held against beside the node: pods, which is what all of them may use; or none", func(text string) error {
		s.EnforceNodeAllocatable = strings.Split(text, ",")
		return nil
	})
}

// pairsFlag is a flag of name-value pairs.
type pairsFlag struct {
	to        *map[string]string
	separator string
	given     bool
}

// String implements [flag.Value].
func (f *pairsFlag) String() string {
	if f.to == nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(*f.to)) {
		parts = append(parts, name+f.separator+(*f.to)[name])
	}
	return strings.Join(parts, ",")
}

// Set implements [flag.Value].
func (f *pairsFlag) Set(text string) error {
	pairs, err := parsePairs(text, f.separator)
	if err != nil {
		return err
	}
	if !f.given || *f.to == nil {
		*f.to = map[string]string{}
	}
	f.given = true
	maps.Copy(*f.to, pairs)
	return nil
}

// int32Flag is a flag of a number.
type int32Flag int32

// String implements [flag.Value].
func (f *int32Flag) String() string { return strconv.Itoa(int(*f)) }

// Set implements [flag.Value].
func (f *int32Flag) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 32)
	if err != nil {
		return fmt.Errorf("not a number of seconds: %q", text)
	}
	*f = int32Flag(n)
	return nil
}
