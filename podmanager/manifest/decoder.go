package manifest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

// MaxBytes is the size from which on a manifest is refused, 10 MiB; one of
// exactly this size is refused. What YAML aliases expand to counts as well.
const MaxBytes = 10 << 20

// What a manifest may hold at most: its own size says little about the memory
// that it takes. Each is far more than the pods of any node need.
const (
	maxValues  = 1 << 20
	maxObjects = 1 << 18
	maxItems   = 50_000
)

// Decoder turns manifests into static pods. NodeName is required; it becomes
// part of every pod's name. A Decoder holds no state and is safe for concurrent
// use.
type Decoder struct {
	// Source is where the manifests come from. For podmanager.SourceHTTP a
	// PodList is accepted as well, and the URL alone is hashed into the UID. Any
	// other value, the empty one too, is podmanager.SourceFile: one Pod a
	// manifest, node and path are hashed into the UID, and the pod tolerates all
	// NoExecute taints.
	Source string
	// NodeName is the name of this node.
	NodeName string
	// AllowAPIReferences accepts pods that refer to objects of the API: secrets,
	// configmaps, service accounts, claims. The kubelet has refused them since
	// v1.34, and so does the zero value.
	AllowAPIReferences bool
	// AllowObjects accepts, of such references, those to ConfigMaps and Secrets
	// alone, for a node that has a source of its own for them.
	AllowObjects bool
}

// Result is what a manifest held.
type Result struct {
	// Pods are the good pods, in the order of the manifest, each owned by the
	// caller. Two pods of a list may have one name; the Mux keeps the first.
	Pods []*v1.Pod
	// Errors are what was refused: one for the whole manifest, or one for each
	// refused item of a list.
	Errors []*podmanager.ManifestError
	// Warnings are what a person should know of what was accepted. Each begins
	// with the origin.
	Warnings []string
	// List tells that the manifest was a PodList that could be read. A list with
	// no items is a good answer: no pods, no errors.
	List bool
}

// Decode reads one manifest. Origin is the file's path or the URL: it stands in
// errors and warnings and is a part of derived UIDs, so give it in one form
// always. Data is not kept and not changed. Time and memory are bounded by
// MaxBytes, whatever data holds.
func (d Decoder) Decode(data []byte, origin string) Result {
	m := &decoding{Decoder: d, origin: origin}
	m.run(data)
	return m.result
}

// decoding is one call of Decode.
type decoding struct {
	Decoder
	origin string
	result Result
}

func (m *decoding) run(data []byte) {
	raw, warnings, err := toJSON(data)
	for _, w := range warnings {
		m.warn("%s", w)
	}
	if err != nil {
		m.refuse("", kindOfReadError(err), err)
		return
	}
	switch object, kind, err := m.decodeObject(raw); {
	case err != nil:
		m.refuse("", kind, err)
	case object.list != nil:
		m.list(object.list)
	default:
		m.pod("", object.pod)
	}
}

// list takes the items of a PodList one by one. The items of a list are pods by
// their place, whatever kind they give.
func (m *decoding) list(items []item) {
	m.result.List = true
	for i, it := range items {
		prefix := fmt.Sprintf("items[%d]", i)
		pod, err := m.decodeItem(prefix, it)
		if err != nil {
			m.refuse(it.podName(), podmanager.ManifestDecode, fmt.Errorf("%s: %w", prefix, err))
			continue
		}
		m.pod(prefix, pod)
	}
}

// pod takes a decoded pod through the steps that are left.
func (m *decoding) pod(prefix string, pod *v1.Pod) {
	if kind, err := m.finish(pod); err != nil {
		if prefix != "" {
			err = fmt.Errorf("%s: %w", prefix, err)
		}
		m.refuse(podName(pod.Namespace, pod.Name), kind, err)
		return
	}
	m.result.Pods = append(m.result.Pods, pod)
}

func (m *decoding) finish(pod *v1.Pod) (podmanager.ManifestErrorKind, error) {
	if pod.Name == "" {
		return podmanager.ManifestNoName, errNoName
	}
	hash, err := m.hash(pod)
	if err != nil {
		return podmanager.ManifestDecode, err
	}
	setDefaults(pod)
	m.setStatic(pod, hash)
	if err := validatePod(pod); err != nil {
		return podmanager.ManifestValidation, err
	}
	if m.AllowAPIReferences {
		return "", nil
	}
	if resource := apiReference(pod, m.AllowObjects); resource != "" {
		return podmanager.ManifestAPIReference, fmt.Errorf("static pods may not reference %s", resource)
	}
	return "", nil
}

func (m *decoding) refuse(pod string, kind podmanager.ManifestErrorKind, err error) {
	m.result.Errors = append(m.result.Errors,
		&podmanager.ManifestError{File: m.origin, Pod: pod, Kind: kind, Err: err})
}

func (m *decoding) warn(format string, args ...any) {
	m.result.Warnings = append(m.result.Warnings, m.origin+": "+fmt.Sprintf(format, args...))
}

// podName is namespace/name as far as both are known.
func podName(namespace, name string) string {
	if name == "" {
		return ""
	}
	if namespace == "" {
		namespace = v1.NamespaceDefault
	}
	return clip(namespace) + "/" + clip(name)
}
