package eviction

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Settings are what a kubelet's configuration file says of eviction; the JSON
// is the file's. The zero value is the kubelet's default.
type Settings struct {
	// Hard thresholds by signal, as "100Mi" or "10%". Nil means
	// [DefaultHard]; an empty map means none.
	Hard map[string]string `json:"evictionHard,omitempty"`
	// Soft thresholds by signal, each with an entry in SoftGracePeriod.
	Soft            map[string]string `json:"evictionSoft,omitempty"`
	SoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// MinimumReclaim by signal is how much more than the threshold must be
	// free again.
	MinimumReclaim map[string]string `json:"evictionMinimumReclaim,omitempty"`
	// MergeDefaults adds to Hard the defaults of signals that it lacks.
	MergeDefaults bool `json:"mergeDefaultEvictionSettings,omitempty"`
	// EnforceNodeAllocatable with "pods" in it holds hard memory thresholds
	// against what pods together may use, too.
	EnforceNodeAllocatable []string `json:"enforceNodeAllocatable,omitempty"`
	// PressureTransitionPeriod is how long a condition stays after the last
	// time it was seen; zero is 5 minutes.
	PressureTransitionPeriod metav1.Duration `json:"evictionPressureTransitionPeriod,omitzero"`
	// MaxPodGracePeriod is the most seconds that a pod gets for which a soft
	// threshold was met. A negative one leaves it its own.
	MaxPodGracePeriod int32 `json:"evictionMaxPodGracePeriod,omitempty"`
}

// DefaultHard returns the hard thresholds of a kubelet that is told none, on
// this operating system.
func DefaultHard() map[string]string {
	hard := map[string]string{
		string(MemoryAvailable):  "100Mi",
		string(NodeFsAvailable):  "10%",
		string(ImageFsAvailable): "15%",
	}
	switch runtime.GOOS {
	case "linux":
		hard[string(NodeFsInodesFree)] = "5%"
		hard[string(ImageFsInodesFree)] = "5%"
	case "windows":
		hard[string(MemoryAvailable)] = "500Mi"
	}
	return hard
}

// Policy makes of the settings what [Evaluate] works with: thresholds in the
// order hard before soft, each by signal, and local-storage limits on. The
// first thing wrong is the error, in the kubelet's words.
func (s Settings) Policy() (Policy, error) {
	thresholds, err := s.Thresholds()
	if err != nil {
		return Policy{}, fmt.Errorf("eviction settings: %w", err)
	}
	p := Policy{
		Thresholds:         thresholds,
		TransitionPeriod:   s.PressureTransitionPeriod.Duration,
		MaxPodGracePeriod:  time.Duration(s.MaxPodGracePeriod) * time.Second,
		LocalStorageLimits: true,
	}
	if p.TransitionPeriod == 0 {
		p.TransitionPeriod = 5 * time.Minute
	}
	return p, nil
}

// Thresholds parses the thresholds alone.
func (s Settings) Thresholds() ([]Threshold, error) {
	hard, err := parseThresholds(s.hard())
	if err != nil {
		return nil, err
	}
	soft, err := parseThresholds(s.Soft)
	if err != nil {
		return nil, err
	}
	graces, err := parseGracePeriods(s.SoftGracePeriod)
	if err != nil {
		return nil, err
	}
	reclaims, err := parseReclaims(s.MinimumReclaim)
	if err != nil {
		return nil, err
	}
	for i, t := range soft {
		grace, ok := graces[t.Signal]
		if !ok {
			return nil, fmt.Errorf("grace period must be specified for the soft eviction threshold %v", t.Signal)
		}
		soft[i].GracePeriod = grace
	}
	all := append(hard, soft...)
	for i := range all {
		if r, ok := reclaims[all[i].Signal]; ok {
			all[i].MinReclaim = &r
		}
	}
	if slices.Contains(s.EnforceNodeAllocatable, "pods") {
		all = withAllocatableMemory(all)
	}
	return all, nil
}

func (s Settings) hard() map[string]string {
	if s.Hard == nil {
		return DefaultHard()
	}
	if !s.MergeDefaults {
		return s.Hard
	}
	merged := DefaultHard()
	maps.Copy(merged, s.Hard)
	return merged
}

// withAllocatableMemory adds to each hard memory threshold the same one over
// what pods may use.
func withAllocatableMemory(thresholds []Threshold) []Threshold {
	for _, t := range thresholds {
		if t.Signal == MemoryAvailable && t.GracePeriod == 0 {
			t.Signal = AllocatableMemoryAvailable
			thresholds = append(thresholds, t)
		}
	}
	return thresholds
}

// signalOf is the signal of a name that one of the maps has.
func signalOf(name string) (Signal, error) {
	if s := Signal(name); s.Known() {
		return s, nil
	}
	return "", fmt.Errorf("unsupported eviction signal %v", name)
}

// parseThresholds parses in the order of the signals' names. "0%" and "100%"
// mean that the signal is not watched.
func parseThresholds(values map[string]string) ([]Threshold, error) {
	var thresholds []Threshold
	for _, name := range slices.Sorted(maps.Keys(values)) {
		signal, err := signalOf(name)
		if err != nil {
			return nil, err
		}
		text := values[name]
		if text == "0%" || text == "100%" {
			continue
		}
		amount, err := parseThresholdAmount(signal, text)
		if err != nil {
			return nil, err
		}
		thresholds = append(thresholds, Threshold{Signal: signal, Value: amount})
	}
	return thresholds, nil
}

func parseThresholdAmount(signal Signal, text string) (Amount, error) {
	if !strings.HasSuffix(text, "%") {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return Amount{}, err
		}
		if q.Sign() <= 0 {
			return Amount{}, fmt.Errorf("eviction threshold %v must be positive: %s", signal, &q)
		}
		return Amount{Quantity: &q}, nil
	}
	part, err := parsePercentage(text)
	switch {
	case err != nil:
		return Amount{}, err
	case part < 0:
		return Amount{}, fmt.Errorf("eviction percentage threshold %v must be >= 0%%: %s", signal, text)
	case part > 1:
		return Amount{}, fmt.Errorf("eviction percentage threshold %v must be <= 100%%: %s", signal, text)
	}
	return Amount{Fraction: part}, nil
}

func parsePercentage(text string) (float32, error) {
	value, err := strconv.ParseFloat(strings.TrimRight(text, "%"), 32)
	if err != nil {
		return 0, err
	}
	return float32(value) / 100, nil
}

func parseGracePeriods(values map[string]string) (map[Signal]time.Duration, error) {
	graces := make(map[Signal]time.Duration, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		signal, err := signalOf(name)
		if err != nil {
			return nil, err
		}
		grace, err := time.ParseDuration(values[name])
		if err != nil {
			return nil, err
		}
		if grace < 0 {
			return nil, fmt.Errorf("invalid eviction grace period specified: %v, must be a positive value", values[name])
		}
		graces[signal] = grace
	}
	return graces, nil
}

func parseReclaims(values map[string]string) (map[Signal]Amount, error) {
	reclaims := make(map[Signal]Amount, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		signal, err := signalOf(name)
		if err != nil {
			return nil, err
		}
		if reclaims[signal], err = parseReclaim(signal, values[name]); err != nil {
			return nil, err
		}
	}
	return reclaims, nil
}

func parseReclaim(signal Signal, text string) (Amount, error) {
	if strings.HasSuffix(text, "%") {
		part, err := parsePercentage(text)
		if err == nil && part <= 0 {
			err = fmt.Errorf("eviction percentage minimum reclaim %v must be positive: %s", signal, text)
		}
		return Amount{Fraction: part}, err
	}
	q, err := resource.ParseQuantity(text)
	if err == nil && q.Sign() < 0 {
		err = fmt.Errorf("negative eviction minimum reclaim specified for %v", signal)
	}
	return Amount{Quantity: &q}, err
}

// errPair says what a flag's part must look like.
var errPair = errors.New("malformed pair")

// parsePairs parses "name<value,name<value", or the same with another
// separator. An empty text gives an empty map.
func parsePairs(text, separator string) (map[string]string, error) {
	pairs := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, separator)
		if !ok {
			return nil, fmt.Errorf("%w %q, expect string%sstring", errPair, part, separator)
		}
		pairs[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return pairs, nil
}
