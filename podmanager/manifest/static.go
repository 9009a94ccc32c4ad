package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// hash is the content of a pod that was just decoded, with its origin, as 32
// hex digits. A moved file is another pod; so is the same file on another node,
// but not the same URL.
func (m *decoding) hash(pod *v1.Pod) (string, error) {
	content, err := json.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("hash of the content: %w", err)
	}
	h := sha256.New()
	h.Write(content)
	if m.Source == podmanager.SourceHTTP {
		fmt.Fprintf(h, "\nurl:%s", m.origin)
	} else {
		fmt.Fprintf(h, "\nhost:%s\nfile:%s", m.NodeName, m.origin)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// setStatic makes the pod this node's own.
func (m *decoding) setStatic(pod *v1.Pod, hash string) {
	if pod.UID == "" {
		pod.UID = types.UID(hash)
	}
	pod.Name += "-" + strings.ToLower(m.NodeName)
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	pod.Spec.NodeName = m.NodeName
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podmanager.AnnotationHash] = hash
	if m.Source != podmanager.SourceHTTP {
		tolerateNoExecute(&pod.Spec)
	}
	// What a status says is for the agent to find out: requests are counted, classes
	// given and deadlines reckoned by it.
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
}

// tolerateNoExecute makes sure that no taint drives the pod away, also where the
// manifest tolerates all such taints for some time only.
func tolerateNoExecute(spec *v1.PodSpec) {
	all := v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
	found := false
	for i := range spec.Tolerations {
		if spec.Tolerations[i].MatchToleration(&all) {
			spec.Tolerations[i], found = all, true
		}
	}
	if !found {
		spec.Tolerations = append(slices.Clip(spec.Tolerations), all)
	}
}
