package manifest

import (
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeparts/kubeparts/podmanager"
)

const (
	// maxUID is more than any UID needs, and less than a file name may have.
	maxUID = 128

	annotationDeletionCost = "controller.kubernetes.io/pod-deletion-cost"
)

func (c *checker) metadata() {
	path := field.NewPath("metadata")
	meta := &c.pod.ObjectMeta
	c.add(validation.ValidateObjectMeta(meta, true, validation.NameIsDNSSubdomain, path)...)
	c.uid(path.Child("uid"))
	for i, finalizer := range meta.Finalizers {
		if !strings.Contains(finalizer, "/") && !standardFinalizer(finalizer) {
			c.invalid(path.Child("finalizers").Index(i), finalizer, "name is neither a standard finalizer name nor is it fully qualified")
		}
	}
	c.annotations(path.Child("annotations"))
}

func standardFinalizer(name string) bool {
	return name == string(v1.FinalizerKubernetes) ||
		name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents
}

// uid allows what can be one element of a path: the pod's folder has this name.
func (c *checker) uid(path *field.Path) {
	uid := string(c.pod.UID)
	if len(uid) > maxUID {
		c.add(field.TooLong(path, uid, maxUID))
		return
	}
	for i, r := range uid {
		alphanumeric := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !alphanumeric && (i == 0 || !strings.ContainsRune("-_.", r)) {
			c.invalid(path, uid, "must consist of letters, digits, '-', '_' and '.', and begin with a letter or digit: it names the pod's folder")
			return
		}
	}
}

func (c *checker) annotations(path *field.Path) {
	annotations := c.pod.Annotations
	if cost, ok := annotations[annotationDeletionCost]; ok {
		if n, err := strconv.ParseInt(cost, 10, 32); err != nil || strconv.FormatInt(n, 10) != cost {
			c.invalid(path.Key(annotationDeletionCost), cost, "must be a 32bit integer")
		}
	}
	if _, ok := annotations[podmanager.AnnotationMirror]; ok {
		c.forbidden(path.Key(podmanager.AnnotationMirror), "a mirror stands in the API; whoever has this annotation never runs")
	}
	for _, key := range sortedKeys(annotations) {
		if key == annotationSeccompPod || strings.HasPrefix(key, annotationSeccompPrefix) {
			c.seccompAnnotation(path.Key(key), annotations[key])
		}
		if container, ok := strings.CutPrefix(key, annotationArmorPrefix); ok {
			c.armorAnnotation(path.Key(key), container, annotations[key])
		}
	}
}
