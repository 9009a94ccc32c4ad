package eviction_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission/admissiontest"
	"github.com/kubeparts/kubeparts/eviction"
)

func TestAdmitHandlerKeepsTheRules(t *testing.T) {
	for name, conditions := range map[string][]v1.NodeConditionType{
		"calm": nil, "memory": {v1.NodeMemoryPressure}, "all": {v1.NodePIDPressure, v1.NodeMemoryPressure, v1.NodeDiskPressure},
	} {
		t.Run(name, func(t *testing.T) {
			h := eviction.NewAdmitHandler(func() []v1.NodeConditionType { return conditions })
			admissiontest.TestHandler(t, h, append(admissiontest.Cases(),
				admissiontest.Case{Name: "best effort", Pod: admissiontest.NewPod("p").Pod, Node: admissiontest.NewNode("n")})...)
		})
	}
}
