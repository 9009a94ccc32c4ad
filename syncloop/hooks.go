package syncloop

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// Hooks tell a host what the loop does, for metrics and progress. Any may be
// nil. They are called from the loop, or from who lists the runtime or writes to sink
// and store, without a lock, and must not block; those of one pod come in order
// unless stated otherwise.
// What they get is read-only. They may ask the loop what it does not wait for: Pod,
// Pods, Health, Explain, NodeChanged. Kill, Shutdown and Dump wait for the loop, and
// so for the hook: they need a goroutine of their own. The same goes for the checks
// of Config.Admission.
type Hooks struct {
	// PodAdmitted is called for each decision of admission, with how long it
	// took. (kubelet_admission_rejections_total, by reason)
	PodAdmitted func(pod *v1.Pod, v admission.Verdict, took time.Duration)
	// PodPreempted is called when a pod is stopped to make room for a critical
	// one; signal is the first resource of which there was too little.
	// (kubelet_preemptions, by preemption_signal)
	PodPreempted func(pod, critical runtime.PodRef, signal v1.ResourceName)
	// PodResize is called for each verdict about a running pod whose resources
	// change, with how long it took. (kubelet_pod_infeasible_resizes_total, and
	// for one that fits after it was deferred
	// kubelet_pod_deferred_accepted_resizes_total)
	PodResize func(pod runtime.PodRef, v resize.Verdict, took time.Duration)
	// PodResized is called when the containers of a pod have what it was granted,
	// or, with the error, each time that they could not be given it; after is how
	// long after the grant. (kubelet_pod_resize_duration_milliseconds, by success)
	PodResized func(pod runtime.PodRef, after time.Duration, err error)
	// PodStage is called when a pod's life enters a stage.
	// (kubelet_working_pods, by lifecycle)
	PodStage func(pod runtime.PodRef, stage lifecycle.Stage)
	// PodWork is called when a worker comes back, with what it did and how
	// long it took. (kubelet_pod_worker_duration_seconds, by operation_type)
	PodWork func(pod runtime.PodRef, work lifecycle.Work, took time.Duration, err error)
	// PodFirstWork is called when the first work for a pod begins, with how
	// long after its addition. (kubelet_pod_worker_start_duration_seconds)
	PodFirstWork func(pod runtime.PodRef, after time.Duration)
	// PodStarted is called once, when all containers of a pod run for the
	// first time, with how long after its addition.
	// (kubelet_pod_start_duration_seconds)
	PodStarted func(pod runtime.PodRef, after time.Duration)
	// PodRestarted is called when a pod starts over under the same UID.
	// (kubelet_restarted_pods_total)
	PodRestarted func(pod runtime.PodRef)
	// PodForgotten is called when the loop drops all that it knows of a pod.
	PodForgotten func(pod runtime.PodRef)
	// StrangerFound is called for a pod in the runtime that nobody wants; it
	// is killed. (kubelet_orphaned_runtime_pods_total)
	StrangerFound func(pod runtime.PodRef)

	// StatusSent is called when the sink took a status, with how long after
	// it was made; err tells that it refused.
	// (kubelet_pod_status_sync_duration_seconds)
	StatusSent func(pod runtime.PodRef, version uint64, after time.Duration, err error)
	// StoreLoaded is called when the loop has read what the store remembers.
	StoreLoaded func(records int, took time.Duration, err error)
	// StoreCommitted is called when the store took, or refused, a batch of so
	// many records.
	StoreCommitted func(records int, took time.Duration, err error)

	// Relisted is called after each list of the runtime's pods, with how many
	// there were and how many of them had changed.
	// (kubelet_pleg_relist_duration_seconds, kubelet_pleg_last_seen_seconds, and
	// kubelet_pleg_relist_interval_seconds is the time between two calls)
	Relisted func(pods, changed int, took time.Duration, err error)
	// Housekeeping is called after each round of clean-ups. (The kubelet has no
	// metric for it; it logs a round of more than a second.)
	Housekeeping func(took time.Duration)
	// UnexpectedUpdate is called for an update that nobody understands.
	UnexpectedUpdate func(err error)
}
