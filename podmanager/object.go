package podmanager

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ObjectKind is a kind of object that pods refer to by name.
type ObjectKind string

// The kinds.
const (
	KindConfigMap ObjectKind = "ConfigMap"
	KindSecret    ObjectKind = "Secret"
)

// ObjectRef names an object.
type ObjectRef struct {
	Kind            ObjectKind
	Namespace, Name string
}

// String is kind and names: Secret shop/db.
func (r ObjectRef) String() string { return string(r.Kind) + " " + r.Namespace + "/" + r.Name }

// resource is the kind as the kubelet's errors have it.
func (r ObjectRef) resource() string {
	if r.Kind == KindSecret {
		return "secret"
	}
	return "configmap"
}

// NotFound is the error that the object does not exist, in the kubelet's words;
// [apierrors.IsNotFound] is true for it.
func (r ObjectRef) NotFound() error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: r.resource()}, r.Name)
}

// Object is a ConfigMap or a Secret, read-only; the zero value is none. However
// it is printed, logged or marshalled, it shows its names and never its content.
type Object struct {
	configMap *v1.ConfigMap
	secret    *v1.Secret
}

// ConfigMapObject returns the ConfigMap as an Object; nil gives none.
func ConfigMapObject(c *v1.ConfigMap) Object { return Object{configMap: c} }

// SecretObject returns the Secret as an Object; nil gives none.
func SecretObject(s *v1.Secret) Object { return Object{secret: s} }

// ConfigMap returns the ConfigMap, nil if the object is none.
func (o Object) ConfigMap() *v1.ConfigMap { return o.configMap }

// Secret returns the Secret, nil if the object is none. It does not keep its
// content to itself as an Object does.
func (o Object) Secret() *v1.Secret { return o.secret }

// IsZero tells whether this is no object at all.
func (o Object) IsZero() bool { return o == Object{} }

// Ref names the object; the zero value for none.
func (o Object) Ref() ObjectRef {
	switch {
	case o.configMap != nil:
		return ObjectRef{KindConfigMap, o.configMap.Namespace, o.configMap.Name}
	case o.secret != nil:
		return ObjectRef{KindSecret, o.secret.Namespace, o.secret.Name}
	}
	return ObjectRef{}
}

// Immutable tells whether the object says that it never changes.
func (o Object) Immutable() bool {
	switch {
	case o.configMap != nil:
		return o.configMap.Immutable != nil && *o.configMap.Immutable
	case o.secret != nil:
		return o.secret.Immutable != nil && *o.secret.Immutable
	}
	return false
}

// Equal tells whether two objects hold the same, so that who uses one need not
// look at the other. Labels, annotations and the like don't count.
func (o Object) Equal(other Object) bool {
	a, b := o.meta(), other.meta()
	switch {
	case o == other:
		return true
	case o.Ref() != other.Ref() || a.UID != b.UID || o.Immutable() != other.Immutable():
		return false
	case a.ResourceVersion != "" && a.ResourceVersion == b.ResourceVersion:
		return true
	case o.configMap != nil:
		return reflect.DeepEqual(o.configMap.Data, other.configMap.Data) &&
			reflect.DeepEqual(o.configMap.BinaryData, other.configMap.BinaryData)
	default:
		return o.secret.Type == other.secret.Type && reflect.DeepEqual(o.secret.Data, other.secret.Data)
	}
}

// olderThan tells whether the other is a later version of the same object, as
// far as their resourceVersions say.
func (o Object) olderThan(other Object) bool {
	a, b := o.meta(), other.meta()
	if a.UID != b.UID || a.ResourceVersion == b.ResourceVersion {
		return false
	}
	mine, err := strconv.ParseUint(a.ResourceVersion, 10, 64)
	theirs, err2 := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return err == nil && err2 == nil && mine < theirs
}

func (o Object) meta() metav1.ObjectMeta {
	switch {
	case o.configMap != nil:
		return o.configMap.ObjectMeta
	case o.secret != nil:
		return o.secret.ObjectMeta
	}
	return metav1.ObjectMeta{}
}

// String is the object's kind, names and number of keys.
func (o Object) String() string {
	switch {
	case o.configMap != nil:
		return fmt.Sprintf("%s (%d keys)", o.Ref(), len(o.configMap.Data)+len(o.configMap.BinaryData))
	case o.secret != nil:
		return fmt.Sprintf("%s (%d keys)", o.Ref(), len(o.secret.Data))
	}
	return "no object"
}

// Format writes String, whatever verb and flags ask for.
func (o Object) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, o.String()) }

// LogValue is String.
func (o Object) LogValue() slog.Value { return slog.StringValue(o.String()) }

// MarshalJSON is String, as JSON; there is no way back.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.String()) }
