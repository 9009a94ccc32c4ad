package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

func TestDecodeObject(t *testing.T) {
	r := manifest.DecodeObject([]byte(`
apiVersion: v1
kind: Secret
metadata: {name: db}
data: {user: cm9ib3Q=, password: b2xk}
stringData: {password: hunter2}
`), "db.yaml")
	require.Nil(t, r.Error)
	require.Empty(t, r.Warnings)
	s := r.Object.Secret()
	require.Equal(t, "Secret default/db", r.Object.Ref().String())
	require.Equal(t, map[string][]byte{"user": []byte("robot"), "password": []byte("hunter2")}, s.Data)
	require.Empty(t, s.StringData)
	require.Equal(t, v1.SecretTypeOpaque, s.Type)

	r = manifest.DecodeObject([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"},
		"data":{"a":"1"},"binaryData":{"b":"AP8="},"immutable":true,"more":1}`), "web.json")
	require.Nil(t, r.Error)
	require.Equal(t, "ConfigMap shop/web", r.Object.Ref().String())
	require.Equal(t, []byte{0, 255}, r.Object.ConfigMap().BinaryData["b"])
	require.True(t, r.Object.Immutable())
	require.Equal(t, []string{`web.json: passed over: unknown field "more"`}, r.Warnings)
}

// A Secret has what its type promises; of a type of their own people say that.
func TestSecretsOfKnownTypes(t *testing.T) {
	for _, rest := range []string{
		"type: kubernetes.io/tls\nstringData: {tls.key: a, tls.crt: b}", "type: kubernetes.io/basic-auth\nstringData: {password: a}",
		"type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{}'}", "type: example.com/mine",
	} {
		r := manifest.DecodeObject([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n"+rest), "f")
		require.Nil(t, r.Error, rest)
	}
}

// What is refused says why and where, and quotes nothing that may be a secret.
func TestObjectsThatAreRefused(t *testing.T) {
	secret := func(rest string) string { return "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n" + rest }
	config := func(rest string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db}\n" + rest }
	for name, tc := range map[string]struct {
		data string
		kind podmanager.ManifestErrorKind
		want string
	}{
		"a pod":             {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}", podmanager.ManifestNotAnObject, "f: a v1 ConfigMap or Secret is wanted, not a v1 Pod"},
		"no kind":           {"hunter2: x", podmanager.ManifestDecode, "f: kind is missing"},
		"text":              {"hunter2", podmanager.ManifestDecode, "f: it can't be decoded; what is wrong with it is not repeated here"},
		"an unknown kind":   {"apiVersion: v1\nkind: Thing", podmanager.ManifestDecode, `f: kind "Thing" of apiVersion "v1" is not known`},
		"no name":           {"apiVersion: v1\nkind: Secret\ndata: {}", podmanager.ManifestNoName, "f: name is needed for the Secret"},
		"not base64":        {secret("data: {a: hunter2!}"), podmanager.ManifestDecode, "f: it can't be decoded; what is wrong with it is not repeated here"},
		"not YAML":          {secret("data: *hunter2"), podmanager.ManifestDecode, "f: it can't be decoded; what is wrong with it is not repeated here"},
		"half":              {secret("data:\n  a: \"hunter2"), podmanager.ManifestDecode, "can't be decoded; what is wrong with it is not repeated here"},
		"a number":          {config("data: {a: 1}"), podmanager.ManifestDecode, "f: it can't be decoded; what is wrong with it is not repeated here"},
		"a key that climbs": {secret("stringData: {../hunter: hunter2}"), podmanager.ManifestValidation, "Secret default/db: [data[../hunter]: Invalid value: \"../hunter\": a valid config key must consist"},
		"a key that is two": {config("data: {a: x}\nbinaryData: {a: AA==}"), podmanager.ManifestValidation, `data[a]: Invalid value: "a": duplicate of key present in binaryData`},
		"a bad name":        {"apiVersion: v1\nkind: Secret\nmetadata: {name: ../db}", podmanager.ManifestValidation, "metadata.name: Invalid value"},
		"too much": {config("data: {a: " + strings.Repeat("x", manifest.MaxObjectBytes) + ", b: x}"), podmanager.ManifestValidation,
			"data: Too long: may not be more than 1048576 bytes"},
		"no certificate": {secret("type: kubernetes.io/tls\nstringData: {tls.key: hunter2}"), podmanager.ManifestValidation, "data[tls.crt]: Required value: a Secret of type kubernetes.io/tls has it"},
		"no JSON":        {secret("type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: hunter2}"), podmanager.ManifestValidation, "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": it is not JSON"},
		"no pull config": {secret("type: kubernetes.io/dockercfg"), podmanager.ManifestValidation, "data[.dockercfg]: Required value"},
		"no SSH key":     {secret("type: kubernetes.io/ssh-auth"), podmanager.ManifestValidation, "data[ssh-privatekey]: Required value"},
		"nobody":         {secret("type: kubernetes.io/basic-auth\nstringData: {a: hunter2}"), podmanager.ManifestValidation, "data: Required value: a Secret of type kubernetes.io/basic-auth has a username or a password"},
		"no account":     {secret("type: kubernetes.io/service-account-token"), podmanager.ManifestValidation, "metadata.annotations[kubernetes.io/service-account.name]: Required value"},
		"far too much":   {strings.Repeat("x", manifest.MaxBytes), podmanager.ManifestRead, "f: the manifest is too large: the limit is 10 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r := manifest.DecodeObject([]byte(tc.data), "f")
			require.NotNil(t, r.Error)
			require.True(t, r.Object.IsZero())
			require.Equal(t, tc.kind, r.Error.Kind)
			require.ErrorContains(t, r.Error, tc.want)
			require.NotContains(t, r.Error.Error(), "hunter2")
			require.NotContains(t, fmt.Sprint(r.Warnings), "hunter2")
		})
	}
}

func TestObjectsOfTheLimit(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "  key-%d: %q\n", i, strings.Repeat("x", 100))
	}
	r := manifest.DecodeObject([]byte(b.String()), "f")
	require.Nil(t, r.Error)
	require.Len(t, r.Object.ConfigMap().Data, 10_000)
}

func FuzzDecodeObject(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {a: b}\n"))
	f.Add([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"a":"1"},"binaryData":{"b":"AP8="}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := manifest.DecodeObject(data, "f")
		require.Equal(t, r.Error == nil, !r.Object.IsZero())
		if r.Error == nil {
			require.NotEmpty(t, r.Object.Ref().Name)
			require.NotEmpty(t, r.Object.Ref().Namespace)
		}
	})
}
