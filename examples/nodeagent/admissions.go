package main

import (
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// admissionEvents says how pods come in: what of them means nothing to
// processes, once for each set of fields, and that one of an earlier agent was
// taken over.
func admissionEvents(events *eventLog) syncloop.Hooks {
	var asked sync.Map // UIDs that admission was asked about
	var told sync.Map  // ignored fields that were named
	return syncloop.Hooks{
		PodAdmitted: func(pod *v1.Pod, v admission.Verdict, _ time.Duration) {
			asked.Store(pod.UID, true)
			if v.Outcome != admission.Admit {
				return
			}
			ignored := strings.Join(process.Ignored(pod), ", ")
			if _, again := told.LoadOrStore(ignored, true); !again && ignored != "" {
				events.Eventf(pod, v1.EventTypeNormal, "FieldsIgnored", "processes do not have: %s (said once for all pods)", ignored)
			}
		},
		PodStage: func(ref runtime.PodRef, stage lifecycle.Stage) {
			if _, known := asked.LoadOrStore(ref.UID, true); !known && stage == lifecycle.Sync {
				events.add(v1.EventTypeNormal, "pod/"+ref.Namespace+"/"+ref.Name, "Adopted", "an earlier agent let it in; it is taken over as it is")
			}
		},
		PodForgotten: func(ref runtime.PodRef) { asked.Delete(ref.UID) },
	}
}
