package podmanagertest

import (
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	// Timeout is how long a source may take to do what it must; 2 minutes by default.
	Timeout time.Duration
}

// TestSource checks each rule in a subtest. One that the world does not allow
// to be checked is skipped.
func TestSource(t *testing.T, suite SourceSuite) {
	t.Helper()
	testAll(t, rules, suite.visit)
}

// Check checks all rules, and returns the violations, joined.
func (s SourceSuite) Check() error { return checkAll(rules, s.visit) }

func (s SourceSuite) visit(check func(*visit) error) error {
	return opened(s.Open, func(world World) error {
		v := &visit{world: world, timeout: orDefault(s.Timeout)}
		return errors.Join(check(v), v.stop())
	})
}

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
