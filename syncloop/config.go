package syncloop

import (
	"errors"
	"log/slog"
	"time"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
)

// Readmit says what happens to a pod that was let in by an earlier run of the
// agent: the store says so, or the runtime has something of it.
type Readmit string

// The policies.
const (
	// ReadmitKeep: it was let in once, and stays. The default.
	ReadmitKeep Readmit = "keep"
	// ReadmitRecheck: it is asked for again, as the kubelet does, and stopped
	// with its own grace if it is refused. While it can't be judged it stays, and
	// one that preempts runs on while others make way. It keeps what is reserved
	// for it until it has stopped.
	ReadmitRecheck Readmit = "recheck"
	// ReadmitFail: as ReadmitRecheck, but one that can't be judged now, or is to
	// be asked for again later, is refused too.
	ReadmitFail Readmit = "fail"
)

// Config is what a [SyncLoop] is made of. Runtime is required, and one of
// PodConfig and Updates; the zero value of the rest works.
type Config struct {
	// PodConfig gives the desired pods. Run runs it; it tells which sources
	// were heard.
	PodConfig *podmanager.PodConfig
	// Updates are the changes of the desired pods, as a podmanager.Mux makes
	// them, for a host that has no PodConfig. Run ends when it is closed.
	Updates <-chan podmanager.Update
	// Runtime runs the pods. Required.
	Runtime runtime.Runtime
	// RuntimeName stands before container IDs in statuses, "process" makes
	// process://ID. Default "kubeparts".
	RuntimeName string

	// Sources are the names of the sources that send Updates; with a PodConfig
	// they are known. A pod in the runtime that no source has named is killed
	// once the source was heard that the store remembers it by, or else all of
	// them. By default any one is enough.
	Sources []string

	// Manager stores the desired pods, for others to look them up; nil is one
	// of the loop's own.
	Manager *podmanager.Manager
	// Mirrors makes and deletes mirror pods of static pods; nil makes none.
	Mirrors podmanager.MirrorClient
	// Nodes gives the node that owns mirror pods; nil is that of Admission.
	Nodes admission.NodeGetter

	// Admission judges pods and holds the ledger; nil admits all. From Run on the
	// loop is the ledger's one writer, and a host does not touch it. A plan of
	// preemption is carried out by the loop.
	Admission *admission.Chain
	// Resize says what the node can do for pods whose resources change while
	// they run; the zero value can do all that the Runtime can, which is nothing
	// unless it is a runtime.Resizer.
	Resize resize.Support
	// Readmit is the policy for pods that an earlier run of the agent let in;
	// default ReadmitKeep.
	Readmit Readmit
	// AdmissionRetry is how long a pod waits that is to be asked for again
	// and whose verdict does not say; default 10 seconds. Room that becomes
	// free wakes it earlier.
	AdmissionRetry time.Duration

	// Sink takes the statuses; nil drops them (they are in Pods too).
	Sink StatusSink
	// Store keeps what must outlive the agent; nil keeps nothing.
	Store Store
	// Events tells users what happens; nil tells nobody.
	Events runtime.EventRecorder
	// Probes probes the containers, as a rule a *probe.Manager that the host
	// runs beside the loop; nil means that nobody does: a container that runs
	// has started and is ready.
	Probes Probes
	// HostIPs are the addresses of the node, primary first.
	HostIPs []string

	// Parts are what the host runs beside the loop and wants to be asked about
	// together with it: see Health and Dump.
	Parts []Part
	// Hooks tell the host what the loop does.
	Hooks Hooks
	// Logger is what it logs to; nil is silent.
	Logger *slog.Logger

	// ResyncInterval is how long after a sync the next one of a pod comes
	// although nothing changed, stretched by up to half; default 1 minute.
	ResyncInterval time.Duration
	// RetryInterval is how long after a failed sync the next one comes,
	// stretched by up to half; default 10 seconds.
	RetryInterval time.Duration
	// HousekeepingInterval is the time between clean-ups; default 2 seconds.
	HousekeepingInterval time.Duration
	// RelistInterval is the time between two lists of the runtime's pods;
	// default 1 second, and 5 minutes if the Runtime is a Watcher.
	RelistInterval time.Duration
	// MaxWorkers is how many pods are worked on at a time; others wait their
	// turn, kills before syncs. Default 0 is as many as there are, for a worker
	// mostly waits for the runtime: 1,024 at once, and others beside those that
	// take more than a second.
	MaxWorkers int
	// SinkWriters is how many statuses are on their way at a time; default 8.
	SinkWriters int

	// Conductor decides what is left to chance otherwise; nil leaves it so.
	Conductor Conductor
}

func (c Config) withDefaults() (Config, error) {
	var errs []error
	if (c.Updates == nil) == (c.PodConfig == nil) {
		errs = append(errs, errors.New("syncloop: one of Config.PodConfig and Config.Updates is needed"))
	}
	if c.Runtime == nil {
		errs = append(errs, errors.New("syncloop: Config.Runtime is nil"))
	}
	if r, ok := c.Runtime.(runtime.Resizer); !ok || !r.CanResize() {
		c.Resize.Unsupported = true
	}
	if c.Admission != nil && c.Admission.Ledger == nil {
		errs = append(errs, errors.New("syncloop: Config.Admission.Ledger is nil"))
	}
	if c.Admission != nil && c.Admission.Patience == nil {
		chain := *c.Admission
		chain.Patience = new(admission.Patience)
		c.Admission = &chain
	}
	if err := checkParts(c.Parts); err != nil {
		errs = append(errs, err)
	}
	switch c.Readmit {
	case "":
		c.Readmit = ReadmitKeep
	case ReadmitKeep, ReadmitRecheck, ReadmitFail:
	default:
		errs = append(errs, errors.New("syncloop: Config.Readmit "+string(c.Readmit)+" is none of keep, recheck, fail"))
	}
	orElse := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	orElse(&c.AdmissionRetry, 10*time.Second)
	orElse(&c.ResyncInterval, time.Minute)
	orElse(&c.RetryInterval, 10*time.Second)
	orElse(&c.HousekeepingInterval, 2*time.Second)
	if c.Manager == nil {
		c.Manager = podmanager.NewManager()
	}
	if c.Nodes == nil && c.Admission != nil {
		c.Nodes = c.Admission.Nodes
	}
	if c.RuntimeName == "" {
		c.RuntimeName = "kubeparts"
	}
	if c.SinkWriters <= 0 {
		c.SinkWriters = 8
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, errors.Join(errs...)
}
