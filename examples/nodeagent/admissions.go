package main

import (
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// admissionEvents says how pods come in: what of a new one means nothing to
// processes, and that one which runs already was taken over.
func admissionEvents(events *eventLog) syncloop.Hooks {
	var asked sync.Map // UIDs that admission was asked about
	return syncloop.Hooks{
		PodAdmitted: func(pod *v1.Pod, v admission.Verdict, _ time.Duration) {
			asked.Store(pod.UID, true)
			if ignored := process.Ignored(pod); v.Outcome == admission.Admit && len(ignored) > 0 {
				events.Eventf(pod, v1.EventTypeNormal, "FieldsIgnored", "processes do not have: %s", strings.Join(ignored, ", "))
			}
		},
		PodStage: func(ref runtime.PodRef, stage lifecycle.Stage) {
			if _, known := asked.LoadOrStore(ref.UID, true); !known && stage == lifecycle.Sync {
				events.add(v1.EventTypeNormal, "pod/"+ref.Namespace+"/"+ref.Name, "Adopted", "it runs already and is taken over as it is")
			}
		},
		PodForgotten: func(ref runtime.PodRef) { asked.Delete(types.UID(ref.UID)) },
	}
}
