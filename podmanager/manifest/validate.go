package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxErrors bounds how many errors of one pod are told.
const maxErrors = 50

// validatePod applies the rules that the API has for a pod that is created. The
// pod has its defaults.
func validatePod(pod *v1.Pod) field.ErrorList { return nil }

func aggregate(errs field.ErrorList) error { return errs.ToAggregate() }

func isHugePage(name v1.ResourceName) bool { return false }
