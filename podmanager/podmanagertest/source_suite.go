package podmanagertest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/podmanager"
)

// World is what a source reads: a folder, a server, a channel. The suite writes
// to it and watches what the source says.
type World interface {
	// Source returns a source of this world. The suite may ask for another one
	// when the Run of the last has ended.
	Source() podmanager.PodSource
	// Write makes these the pods of the world, and no others. The source may
	// give them names and UIDs of its own, but keeps their labels. It is called
	// with and without a Run in progress, and does not wait for one.
	Write(pods []*v1.Pod) error
}

// Breaker is a World that can become unreadable.
type Breaker interface {
	Break() error
	Mend() error
}

// Spoiler is a World with one manifest a pod. Spoil turns that of the pod with
// this name into one that must be refused; the next Write mends it.
type Spoiler interface {
	Spoil(name string) error
}

// SourceSuite is the rules that each source keeps.
type SourceSuite struct {
	// Open makes a new, empty world for each rule. Required. A world that is an
	// io.Closer is closed in the end.
	Open func() (World, error)
	// Patience is how long the suite waits for one thing that a source must do;
	// 2 minutes by default. It is no measure of speed.
	Patience time.Duration
}

// TestSource checks each rule in a subtest. One that the world does not allow
// to be checked is skipped.
func TestSource(t *testing.T, suite SourceSuite) {
	t.Helper()
	sourceRules.Test(t, func(*testing.T) conformance.Open[*visit] { return suite.visit }, suite.options())
}

// RuleError is a rule that an implementation breaks: its Name and Text, and how, Err.
// The errors of the suites join one for each.
type RuleError = conformance.RuleError

// CheckSource is [TestSource] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckSource(ctx context.Context, suite SourceSuite) error {
	return sourceRules.Check(ctx, suite.visit, suite.options())
}

func (s SourceSuite) visit(context.Context) (*visit, func() error, error) {
	world, err := s.Open()
	if err != nil {
		return nil, nil, err
	}
	v := &visit{world: world, patience: orDefault(s.Patience)}
	return v, func() error { return errors.Join(v.stop(), closeWorld(world)) }, nil
}

// options give a rule the time to find out by itself what takes too long.
func (s SourceSuite) options() conformance.Options {
	return conformance.Options{Limit: 4 * orDefault(s.Patience)}
}

// orDefault is how long the suite waits.
func orDefault(patience time.Duration) time.Duration {
	if patience <= 0 {
		return 2 * time.Minute
	}
	return patience
}

// closeWorld ends a world that can be ended.
func closeWorld(world any) error {
	if closer, ok := world.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// errNoWay skips a rule.
const errNoWay = conformance.Skip("the world can't do what this rule needs")

// Labels by which the suite knows its pods again.
const (
	labelName    = "podmanagertest/name"
	labelVersion = "podmanagertest/version"
)

// suitePod is a pod that all sources accept.
func suitePod(name, version string) *v1.Pod {
	return &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: "default",
			UID:       types.UID("uid-" + name),
			Labels:    map[string]string{labelName: name, labelVersion: version},
		},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "busybox:1.36"}}},
	}
}
