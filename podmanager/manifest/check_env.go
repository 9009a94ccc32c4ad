package manifest

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxEnvFileKey is the longest key that an env file may have.
const maxEnvFileKey = 128

func (c *checker) env(path *field.Path, env []v1.EnvVar) {
	for i := range env {
		path, variable := path.Index(i), &env[i]
		c.name(path.Child("name"), variable.Name, validation.IsRelaxedEnvVarName)
		if variable.ValueFrom != nil {
			c.envSource(path.Child("valueFrom"), variable)
		}
	}
}

func (c *checker) envSource(path *field.Path, variable *v1.EnvVar) {
	from := variable.ValueFrom
	set := countSet(from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil,
		from.SecretKeyRef != nil, from.FileKeyRef != nil)
	c.exactlyOne(path, "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`", set)
	if set > 0 && variable.Value != "" {
		c.invalid(path, "", "may not be specified when `value` is not empty")
	}
	if from.FieldRef != nil {
		c.fieldRef(path.Child("fieldRef"), from.FieldRef, envFields)
	}
	if from.ResourceFieldRef != nil {
		c.resourceFieldRef(path.Child("resourceFieldRef"), from.ResourceFieldRef)
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		c.present(path.Child("configMapKeyRef", "name"), ref.Name)
		c.name(path.Child("configMapKeyRef", "key"), ref.Key, validation.IsConfigMapKey)
	}
	if ref := from.SecretKeyRef; ref != nil {
		c.present(path.Child("secretKeyRef", "name"), ref.Name)
		c.name(path.Child("secretKeyRef", "key"), ref.Key, validation.IsConfigMapKey)
	}
	if from.FileKeyRef != nil {
		c.fileKeyRef(path.Child("fileKeyRef"), from.FileKeyRef)
	}
}

// fileKeyRef checks a variable that is read from a file of an emptyDir.
func (c *checker) fileKeyRef(path *field.Path, ref *v1.FileKeySelector) {
	c.name(path.Child("key"), ref.Key, validation.IsRelaxedEnvVarName)
	if len(ref.Key) > maxEnvFileKey {
		c.add(field.TooLong(path.Child("key"), ref.Key, maxEnvFileKey))
	}
	if c.present(path.Child("path"), ref.Path) {
		c.projected(path.Child("path"), ref.Path)
	}
	if !c.present(path.Child("volumeName"), ref.VolumeName) {
		return
	}
	switch source := c.volumes[ref.VolumeName]; {
	case source == nil:
		c.add(field.NotFound(path.Child("volumeName"), ref.VolumeName))
	case source.EmptyDir == nil:
		c.invalid(path.Child("volumeName"), ref.VolumeName, "must be an emptyDir volume")
	}
}

func (c *checker) envFrom(path *field.Path, sources []v1.EnvFromSource) {
	for i, source := range sources {
		path := path.Index(i)
		c.optionalName(path.Child("prefix"), source.Prefix, validation.IsRelaxedEnvVarName)
		c.exactlyOne(path, "`configMapRef` or `secretRef`", countSet(source.ConfigMapRef != nil, source.SecretRef != nil))
		if source.ConfigMapRef != nil {
			c.present(path.Child("configMapRef", "name"), source.ConfigMapRef.Name)
		}
		if source.SecretRef != nil {
			c.present(path.Child("secretRef", "name"), source.SecretRef.Name)
		}
	}
}

// The fields of a pod that a variable, or a file of a volume, may show.
var (
	envFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	volumeFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}
)

func (c *checker) fieldRef(path *field.Path, ref *v1.ObjectFieldSelector, allowed []string) {
	if ref.APIVersion != "v1" {
		c.invalid(path.Child("apiVersion"), ref.APIVersion, "must be v1")
		return
	}
	path = path.Child("fieldPath")
	if !c.present(path, ref.FieldPath) {
		return
	}
	subject, rest, subscripted := strings.Cut(ref.FieldPath, "['")
	key, closed := strings.CutSuffix(rest, "']")
	if !subscripted || !closed {
		oneOf(c, path, ref.FieldPath, allowed...)
		return
	}
	switch subject {
	case "metadata.annotations":
		key = strings.ToLower(key)
		fallthrough
	case "metadata.labels":
		c.invalid(path, ref.FieldPath, validation.IsQualifiedName(key)...)
	default:
		c.invalid(path, ref.FieldPath, "does not support subscript")
	}
}

// The resources of a container that a variable or file may show.
var shownResources = []string{"limits.cpu", "limits.memory", "limits.ephemeral-storage",
	"requests.cpu", "requests.memory", "requests.ephemeral-storage"}

func (c *checker) resourceFieldRef(path *field.Path, ref *v1.ResourceFieldSelector) {
	shown := strings.HasPrefix(ref.Resource, "limits.hugepages-") || strings.HasPrefix(ref.Resource, "requests.hugepages-")
	if !shown {
		oneOf(c, path.Child("resource"), ref.Resource, shownResources...)
	}
	if ref.Divisor.IsZero() {
		return // one
	}
	divisors := byteDivisors
	if strings.HasSuffix(ref.Resource, ".cpu") {
		divisors = cpuDivisors
	}
	for _, divisor := range divisors {
		if ref.Divisor.Cmp(divisor) == 0 {
			return
		}
	}
	c.invalid(path.Child("divisor"), ref.Divisor.String(), "must be one of "+describe(divisors))
}

var (
	cpuDivisors  = quantities("1m", "1")
	byteDivisors = quantities("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
)

func quantities(texts ...string) []resource.Quantity {
	list := make([]resource.Quantity, len(texts))
	for i, text := range texts {
		list[i] = resource.MustParse(text)
	}
	return list
}

func describe(list []resource.Quantity) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].String()
	}
	return strings.Join(texts, ", ")
}
