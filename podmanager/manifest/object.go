package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubeparts/kubeparts/podmanager"
)

// maxNamed bounds how many unknown fields of one object are named.
const maxNamed = 10

// The kinds that a manifest may name without being taken for garbage, and the
// decoder that also says which fields it did not know.
var scheme, strict = newScheme()

func newScheme() (*apiruntime.Scheme, *kjson.Serializer) {
	s := apiruntime.NewScheme()
	utilruntime.Must(v1.AddToScheme(s))
	return s, kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, s, s, kjson.SerializerOptions{Strict: true})
}

var podKind, podListKind = v1.SchemeGroupVersion.WithKind("Pod"), v1.SchemeGroupVersion.WithKind("PodList")

// object is a decoded manifest: a pod, or the items of a list.
type object struct {
	pod  *v1.Pod
	list []item
}

// decodeObject decodes by apiVersion and kind, and takes only what the source
// may deliver.
func (m *decoding) decodeObject(raw []byte) (object, podmanager.ManifestErrorKind, error) {
	gvk, err := kindOf(raw)
	if err != nil {
		return object{}, podmanager.ManifestDecode, err
	}
	if gvk == podListKind && m.Source == podmanager.SourceHTTP {
		list, err := m.decodeList(raw)
		return object{list: list}, podmanager.ManifestDecode, err
	}
	decoded, err := m.decodeStrict(raw, gvk, "")
	if err != nil {
		return object{}, podmanager.ManifestDecode, err
	}
	if pod, ok := decoded.(*v1.Pod); ok {
		pod.TypeMeta = metav1.TypeMeta{}
		return object{pod: pod}, "", nil
	}
	wanted := "Pod"
	if m.Source == podmanager.SourceHTTP {
		wanted = "Pod or PodList"
	}
	return object{}, podmanager.ManifestNotAPod, fmt.Errorf("a v1 %s is wanted, not a %s %s", wanted, gvk.Version, gvk.Kind)
}

var (
	errNoKind      = errors.New("kind is missing")
	errNoVersion   = errors.New("apiVersion is missing")
	errUnknownKind = errors.New("is not known")
)

// kindOf reads apiVersion and kind, and refuses what is no object of core v1.
// Unlike the errors of the decoder it repeats nothing of the content.
func kindOf(raw []byte) (schema.GroupVersionKind, error) {
	gvk, err := kjson.DefaultMetaFactory.Interpret(raw)
	if err != nil {
		return schema.GroupVersionKind{}, noObject(raw, err)
	}
	switch {
	case gvk.Kind == "":
		return *gvk, errNoKind
	case gvk.Version == "":
		return *gvk, errNoVersion
	case !scheme.Recognizes(*gvk):
		return *gvk, fmt.Errorf("kind %q of apiVersion %q %w", clip(gvk.Kind), clip(gvk.GroupVersion().String()), errUnknownKind)
	}
	return *gvk, nil
}

// noObject says what a text holds that is no object, as the page of a server that asks
// for a login; err is told of what can't be parsed at all.
func noObject(raw []byte, err error) error {
	var head struct{ APIVersion, Kind string }
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(json.Unmarshal(raw, &head), &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("it holds no object, but one %s", wrong.Value)
	}
	return fmt.Errorf("%s: %s instead of string", wrong.Field, wrong.Value)
}

// decodeStrict decodes as the kubelet does, and turns what strictness adds to
// that into warnings.
func (m *decoding) decodeStrict(raw []byte, gvk schema.GroupVersionKind, prefix string) (apiruntime.Object, error) {
	empty, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if err := boundQuantities(raw, reflect.TypeOf(empty)); err != nil {
		return nil, err
	}
	decoded, _, err := strict.Decode(raw, &gvk, nil)
	if strictErr, ok := apiruntime.AsStrictDecodingError(err); ok && decoded != nil {
		m.warnStrict(prefix, strictErr.Errors())
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return decoded, nil
}

// warnStrict tells in one warning which fields nobody knows, and in one which
// were given twice.
func (m *decoding) warnStrict(prefix string, errs []error) {
	if prefix != "" {
		prefix += ": "
	}
	var unknown, twice []string
	for _, err := range errs {
		if text := clip(err.Error()); strings.HasPrefix(text, "duplicate field") {
			twice = append(twice, text)
		} else {
			unknown = append(unknown, text)
		}
	}
	if len(unknown) > 0 {
		m.warn("%spassed over: %s", prefix, some(unknown))
	}
	if len(twice) > 0 {
		m.warn("%sthe last value counts: %s", prefix, some(twice))
	}
}

// some joins the first of many texts.
func some(texts []string) string {
	if more := len(texts) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:maxNamed], ", "), more)
	}
	return strings.Join(texts, ", ")
}

// item is one member of a list, not yet decoded.
type item struct {
	raw json.RawMessage
}

// decodeList takes a list apart without decoding its items, so that one that
// can't be decoded harms no other.
func (m *decoding) decodeList(raw []byte) ([]item, error) {
	var list struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := utiljson.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	if len(list.Items) > maxItems {
		return nil, errItems
	}
	items := make([]item, len(list.Items))
	for i, raw := range list.Items {
		items[i] = item{raw: raw}
	}
	return items, nil
}

// untypedPod is a pod that the scheme does not know: it is decoded as it
// stands, whatever apiVersion and kind it gives.
type untypedPod struct{ v1.Pod }

// decodeItem decodes an item as a pod. Kind and apiVersion of an item decide
// nothing, as in a typed list.
func (m *decoding) decodeItem(prefix string, it item) (*v1.Pod, error) {
	if err := boundQuantities(it.raw, reflect.TypeFor[v1.Pod]()); err != nil {
		return nil, err
	}
	untyped := &untypedPod{}
	_, _, err := strict.Decode(it.raw, nil, untyped)
	if strictErr, ok := apiruntime.AsStrictDecodingError(err); ok {
		m.warnStrict(prefix, strictErr.Errors())
		err = nil
	}
	if kind := untyped.Kind; kind != "" && kind != podKind.Kind {
		m.warn("%s: kind %q is read as a Pod, being an item of a PodList", prefix, clip(kind))
	}
	pod := &untyped.Pod
	pod.TypeMeta = metav1.TypeMeta{}
	return pod, err
}

// podName reads as much of the name as can be read.
func (it item) podName() string {
	var named struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	_ = utiljson.Unmarshal(it.raw, &named) // what could be read has been set
	return podName(named.Metadata.Namespace, named.Metadata.Name)
}

// maxEcho bounds how much of a manifest's own text an error repeats.
const maxEcho = 256

func clip(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:maxEcho], "") + "…"
}
