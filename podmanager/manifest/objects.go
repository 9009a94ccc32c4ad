package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeparts/kubeparts/podmanager"
)

// MaxObjectBytes is how many bytes the values of a ConfigMap or a Secret may come
// to, 1 MiB, as in the API.
const MaxObjectBytes = 1 << 20

// ObjectResult is what the manifest of a ConfigMap or a Secret held.
type ObjectResult struct {
	// Object is the object; none if the manifest was refused.
	Object podmanager.Object
	// Error is why it was refused, or nil. It quotes nothing of the content.
	Error *podmanager.ManifestError
	// Warnings are what a person should know of what was accepted. Each begins
	// with the origin.
	Warnings []string
}

// DecodeObject reads the manifest of one v1 ConfigMap or Secret, in YAML or JSON,
// loosely as that of a pod is read. The namespace is "default" where it has none,
// the type of a Secret Opaque, and its stringData goes into its data. Origin is
// the file's path, and stands in errors and warnings. Data is not kept. Time and
// memory are bounded by MaxBytes.
func DecodeObject(data []byte, origin string) ObjectResult {
	m := &decoding{origin: origin}
	object, kind, err := m.object(data)
	result := ObjectResult{Object: object, Warnings: m.result.Warnings}
	if err != nil {
		result.Object = podmanager.Object{}
		result.Error = &podmanager.ManifestError{File: origin, Kind: kind, Err: err}
	}
	return result
}

func (m *decoding) object(data []byte) (podmanager.Object, podmanager.ManifestErrorKind, error) {
	none := podmanager.Object{}
	raw, warnings, err := toJSON(data)
	for _, w := range warnings {
		m.warn("%s", w)
	}
	if err != nil {
		return none, kindOfReadError(err), concealed(err)
	}
	gvk, err := kindOf(raw)
	if err != nil {
		return none, podmanager.ManifestDecode, concealed(err)
	}
	if gvk.Kind != string(podmanager.KindConfigMap) && gvk.Kind != string(podmanager.KindSecret) {
		return none, podmanager.ManifestNotAnObject,
			fmt.Errorf("a v1 ConfigMap or Secret is wanted, not a %s %s", gvk.Version, gvk.Kind)
	}
	decoded, err := m.decodeStrict(raw, gvk, "")
	if err != nil {
		return none, podmanager.ManifestDecode, concealed(err)
	}
	object := withDefaultsOf(decoded)
	if object.Ref().Name == "" {
		return none, podmanager.ManifestNoName, fmt.Errorf("name is needed for the %s", gvk.Kind)
	}
	if errs := checkObject(object); len(errs) > 0 {
		return none, podmanager.ManifestValidation, fmt.Errorf("%s: %w", object.Ref(), errs.ToAggregate())
	}
	return object, "", nil
}

// withDefaultsOf sets what the API would have set.
func withDefaultsOf(decoded apiruntime.Object) podmanager.Object {
	named := func(meta *metav1.ObjectMeta) {
		if meta.Namespace == "" {
			meta.Namespace = v1.NamespaceDefault
		}
	}
	switch o := decoded.(type) {
	case *v1.ConfigMap:
		o.TypeMeta = metav1.TypeMeta{}
		named(&o.ObjectMeta)
		return podmanager.ConfigMapObject(o)
	case *v1.Secret:
		o.TypeMeta = metav1.TypeMeta{}
		named(&o.ObjectMeta)
		if o.Type == "" {
			o.Type = v1.SecretTypeOpaque
		}
		for key, value := range o.StringData {
			if o.Data == nil {
				o.Data = make(map[string][]byte, len(o.StringData))
			}
			o.Data[key] = []byte(value)
		}
		o.StringData = nil
		return podmanager.SecretObject(o)
	}
	return podmanager.Object{}
}

// checkObject is the API's validation, as far as something here depends on it: names,
// keys, size, and what the type of a Secret promises. Of what it finds wrong it gives
// the first few.
func checkObject(object podmanager.Object) field.ErrorList {
	c := objectChecker{}
	switch {
	case object.ConfigMap() != nil:
		o := object.ConfigMap()
		c.meta(&o.ObjectMeta)
		keysOf(&c, "data", o.Data)
		keysOf(&c, "binaryData", o.BinaryData)
		for key := range o.BinaryData {
			if _, twice := o.Data[key]; twice {
				c.errs = append(c.errs, field.Invalid(field.NewPath("data").Key(clip(key)), clip(key), "duplicate of key present in binaryData"))
			}
		}
	case object.Secret() != nil:
		o := object.Secret()
		c.meta(&o.ObjectMeta)
		keysOf(&c, "data", o.Data)
		c.errs = append(c.errs, checkSecretType(o)...)
	}
	if c.size > MaxObjectBytes {
		c.errs = append(c.errs, field.TooLong(field.NewPath("data"), "", MaxObjectBytes))
	}
	slices.SortFunc(c.errs, func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
	return c.errs[:min(len(c.errs), maxNamed)]
}

type objectChecker struct {
	size int
	errs field.ErrorList
}

func (c *objectChecker) meta(meta *metav1.ObjectMeta) {
	c.errs = validation.ValidateObjectMeta(meta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// keysOf checks the keys of a part of an object: each becomes the name of a file.
func keysOf[V string | []byte](c *objectChecker, part string, values map[string]V) {
	for key, value := range values {
		c.size += len(value)
		for _, message := range utilvalidation.IsConfigMapKey(key) {
			c.errs = append(c.errs, field.Invalid(field.NewPath(part).Key(clip(key)), clip(key), message))
		}
	}
}

var lineNumber = regexp.MustCompile(`\bline \d+`)

// concealed is an error of decoding without what it may quote of a secret.
func concealed(err error) error {
	for _, own := range []error{errTooLarge, errAliases, errValues, errObjects, errNoKind, errNoVersion, errUnknownKind} {
		if errors.Is(err, own) {
			return err
		}
	}
	if line := lineNumber.FindString(err.Error()); line != "" {
		return fmt.Errorf("%s can't be decoded; what is wrong with it is not repeated here", line)
	}
	return errors.New("it can't be decoded; what is wrong with it is not repeated here")
}
