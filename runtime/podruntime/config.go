package podruntime

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubeparts/kubeparts/runtime"
)

// DefaultOwner is the owner that sandboxes and containers are labelled with
// when Config.Owner is empty.
const DefaultOwner = "kubeparts"

// defaultHookTimeout bounds a postStart hook, for which the kubelet knows no
// bound: long enough for any honest hook, short enough for a worker to come
// back the same day.
const defaultHookTimeout = 10 * time.Minute

// Config says what a [Runtime] is made of. Backend and Root are required.
type Config struct {
	// Backend runs the sandboxes and containers. Powers that it has besides
	// (runtime.Execer, runtime.Watcher, runtime.ImagePuller,
	// runtime.LogReader, runtime.StatsProvider) are used where present.
	Backend runtime.Backend
	// Root is an absolute path: the folder of volumes, termination messages
	// and logs. It is made when first needed.
	Root string

	// Owner labels what this agent makes and scopes what it lists and removes;
	// a label value. Default: DefaultOwner.
	Owner string
	// NodeName is what spec.nodeName gives in an environment when the pod
	// itself names no node. Default: none.
	NodeName string
	// HostIPs are the addresses of the node, primary first: status.hostIP,
	// and the pod IPs of pods in the host's network. Default: none, so that a
	// pod that asks for one is not started.
	HostIPs []string
	// Allocatable is the node's, for a resourceFieldRef to a limit that the
	// container does not set. Read-only. Default: empty, which counts as zero.
	Allocatable v1.ResourceList
	// Objects gives the ConfigMaps and Secrets that pods refer to. What it can do
	// besides is used, see ObjectRegistrar and ObjectWatcher. Default: none, so
	// that a container that needs one is not started.
	Objects Objects

	// PostStartTimeout bounds a postStart hook; one that takes longer has
	// failed. Default: 10 minutes.
	PostStartTimeout time.Duration

	// CrashLoop paces the restarts of containers, ImagePull the pulls of images
	// that failed. Default: the kubelet's, see runtime.BackoffConfig.
	CrashLoop, ImagePull runtime.BackoffConfig

	// Events receives events about pods and containers. Default: none.
	Events runtime.EventRecorder
	// Logger is for people who run the agent. Default: silent.
	Logger *slog.Logger
}

// withDefaults returns the configuration with its gaps filled.
func (c Config) withDefaults() Config {
	if c.Owner == "" {
		c.Owner = DefaultOwner
	}
	if c.PostStartTimeout == 0 {
		c.PostStartTimeout = defaultHookTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate checks every field and names each that is wrong.
func (c Config) validate() error {
	var errs []error
	if c.Backend == nil {
		errs = append(errs, errors.New("field Backend: required"))
	}
	if c.Root == "" {
		errs = append(errs, errors.New("field Root: required"))
	} else if !filepath.IsAbs(c.Root) {
		errs = append(errs, fmt.Errorf("field Root: %q is not an absolute path", c.Root))
	}
	for _, msg := range validation.IsValidLabelValue(c.Owner) {
		errs = append(errs, fmt.Errorf("field Owner: %s", msg))
	}
	if c.PostStartTimeout < 0 {
		errs = append(errs, fmt.Errorf("field PostStartTimeout: %s is negative", c.PostStartTimeout))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("podruntime: config: %w", err)
	}
	return nil
}
