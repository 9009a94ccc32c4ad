package podmanager_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

func secretObject(namespace, name, value string) podmanager.Object {
	return podmanager.SecretObject(&v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string][]byte{"password": []byte(value)},
	})
}

func configObject(namespace, name, value string) podmanager.Object {
	return podmanager.ConfigMapObject(&v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"key": value},
	})
}

// However an object is shown, its content is not in it.
func TestObjectsRedactThemselves(t *testing.T) {
	const hidden = "hunter2"
	for _, object := range []podmanager.Object{secretObject("shop", "db", hidden), configObject("shop", "db", hidden)} {
		want := object.Ref().String() + " (1 keys)"
		holder := struct{ In podmanager.Object }{object}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			require.Equal(t, want, fmt.Sprintf(verb, object), verb)
			require.Contains(t, fmt.Sprintf(verb, holder), want, verb)
			require.NotContains(t, fmt.Sprintf(verb, []*podmanager.Object{&object}), hidden, verb)
		}
		data, err := json.Marshal(holder)
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"In":%q}`, want), string(data))
		var out bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("it", "object", object, "holder", holder)
		}
		require.NotContains(t, out.String(), hidden)
		require.Contains(t, out.String(), want)
		require.NotContains(t, fmt.Sprintf("%x", object), fmt.Sprintf("%x", hidden))
	}
	require.Equal(t, "no object", podmanager.Object{}.String())
}

func TestObjectEqual(t *testing.T) {
	yes := true
	base := func(change func(*v1.Secret)) podmanager.Object {
		s := secretObject("shop", "db", "x").Secret()
		if change != nil {
			change(s)
		}
		return podmanager.SecretObject(s)
	}
	for name, tc := range map[string]struct {
		change func(*v1.Secret)
		equal  bool
	}{
		"a copy":          {nil, true},
		"labels":          {func(s *v1.Secret) { s.Labels = map[string]string{"a": "b"} }, true},
		"another version": {func(s *v1.Secret) { s.ResourceVersion = "7" }, true},
		"data":            {func(s *v1.Secret) { s.Data["password"] = []byte("y") }, false},
		"type":            {func(s *v1.Secret) { s.Type = v1.SecretTypeTLS }, false},
		"immutable":       {func(s *v1.Secret) { s.Immutable = &yes }, false},
		"made anew":       {func(s *v1.Secret) { s.UID = "1" }, false},
		"another name":    {func(s *v1.Secret) { s.Name = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.equal, base(nil).Equal(base(tc.change)))
			require.Equal(t, tc.equal, base(tc.change).Equal(base(nil)))
		})
	}
	require.False(t, podmanager.Object{}.Equal(base(nil)))
	require.False(t, base(nil).Equal(podmanager.Object{}))
	require.True(t, podmanager.Object{}.Equal(podmanager.Object{}))
	require.False(t, base(nil).Equal(configObject("shop", "db", "x")))
}

func TestNotFoundIsTheKubelets(t *testing.T) {
	err := podmanager.ObjectRef{Kind: podmanager.KindSecret, Namespace: "shop", Name: "db"}.NotFound()
	require.EqualError(t, err, `secret "db" not found`)
	require.True(t, apierrors.IsNotFound(err))
	require.EqualError(t, podmanager.ObjectRef{Kind: podmanager.KindConfigMap, Name: "web"}.NotFound(), `configmap "web" not found`)
}
