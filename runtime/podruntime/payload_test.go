package podruntime

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shelf is a source of one ConfigMap and one Secret.
type shelf struct {
	configMap *v1.ConfigMap
	secret    *v1.Secret
}

func (s *shelf) ConfigMap(_ context.Context, _, name string) (*v1.ConfigMap, error) {
	if s.configMap == nil || s.configMap.Name != name {
		return nil, apierrors.NewNotFound(v1.Resource("configmap"), name)
	}
	return s.configMap, nil
}

func (s *shelf) Secret(_ context.Context, _, name string) (*v1.Secret, error) {
	if s.secret == nil || s.secret.Name != name {
		return nil, apierrors.NewNotFound(v1.Resource("secret"), name)
	}
	return s.secret, nil
}

func newShelf() *shelf {
	return &shelf{
		configMap: &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "cfg"},
			Data:       map[string]string{"app.conf": "a=1\n", "empty": ""},
			BinaryData: map[string][]byte{"logo": {0, 1, 2}},
		},
		secret: &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, Data: map[string][]byte{"tls.key": []byte("hush")}},
	}
}

func (s *shelf) facts(t *testing.T, pod *v1.Pod) podFacts {
	return podFacts{pod: pod, objects: objectReader{ctx: t.Context(), objects: s, namespace: pod.Namespace}}
}

func ofConfigMap(name string, items ...v1.KeyToPath) v1.VolumeSource {
	return v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}, Items: items}}
}

func TestPayload(t *testing.T) {
	optional := ofConfigMap("gone")
	optional.ConfigMap.Optional = new(true)
	optionalKey := ofConfigMap("cfg", v1.KeyToPath{Key: "none", Path: "x"}, v1.KeyToPath{Key: "empty", Path: "e"})
	optionalKey.ConfigMap.Optional = new(true)
	strict := ofConfigMap("cfg", v1.KeyToPath{Key: "app.conf", Path: "conf.d/a.conf", Mode: new(int32(0o400))}, v1.KeyToPath{Key: "logo", Path: "logo.png"})
	strict.ConfigMap.DefaultMode = new(int32(0o440))
	name := v1.LocalObjectReference{Name: "cfg"}
	for _, tc := range []struct {
		name   string
		source v1.VolumeSource
		want   map[string]string // mode and content by path
		err    string
	}{{
		name:   "all keys of a ConfigMap, also the binary ones",
		source: ofConfigMap("cfg"),
		want:   map[string]string{"app.conf": "-rw-r--r-- a=1\n", "empty": "-rw-r--r-- ", "logo": "-rw-r--r-- \x00\x01\x02"},
	}, {
		name:   "some keys, with paths and modes",
		source: strict,
		want:   map[string]string{"conf.d/a.conf": "-r-------- a=1\n", "logo.png": "-r--r----- \x00\x01\x02"},
	}, {
		name:   "a Secret",
		source: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "key", DefaultMode: new(int32(0o400))}},
		want:   map[string]string{"tls.key": "-r-------- hush"},
	}, {
		name:   "a ConfigMap that is absent",
		source: ofConfigMap("gone"),
		err:    `configmap "gone" not found`,
	}, {
		name:   "a ConfigMap that is absent and optional",
		source: optional,
		want:   map[string]string{},
	}, {
		name:   "a key that is absent",
		source: ofConfigMap("cfg", v1.KeyToPath{Key: "none", Path: "x"}),
		err:    "configmap references non-existent config key: none",
	}, {
		name:   "a key of a Secret that is absent",
		source: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "key", Items: []v1.KeyToPath{{Key: "none", Path: "x"}}}},
		err:    "references non-existent secret key: none",
	}, {
		name:   "a key that is absent and optional",
		source: optionalKey,
		want:   map[string]string{"e": "-rw-r--r-- "},
	}, {
		name: "fields of the pod",
		source: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: []v1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
			{Path: "limits/cpu", Mode: new(int32(0o600)), ResourceFieldRef: &v1.ResourceFieldSelector{ContainerName: "main", Resource: "limits.cpu"}},
		}}},
		want: map[string]string{"labels": "-rw-r--r-- app=\"web\"", "limits/cpu": "-rw------- 0"},
	}, {
		name: "a field that there is not",
		source: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: []v1.DownwardAPIVolumeFile{
			{Path: "x", ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "limits.cpu"}},
			{Path: "y", FieldRef: &v1.ObjectFieldSelector{FieldPath: "spec.volumes"}},
		}}},
		err: "downwardAPI items[1]: fieldRef spec.volumes: unsupported field path",
	}, {
		name: "projected, the later source wins",
		source: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{DefaultMode: new(int32(0o444)), Sources: []v1.VolumeProjection{
			{Secret: &v1.SecretProjection{LocalObjectReference: v1.LocalObjectReference{Name: "key"}, Items: []v1.KeyToPath{{Key: "tls.key", Path: "app.conf"}}}},
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: name, Items: []v1.KeyToPath{{Key: "app.conf", Path: "app.conf"}}}},
			{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
		}}},
		want: map[string]string{"app.conf": "-r--r--r-- a=1\n", "name": "-r--r--r-- web"},
	}, {
		name:   "a projected token",
		source: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{ServiceAccountToken: &v1.ServiceAccountTokenProjection{}}}}},
		err:    "projected sources of kind serviceAccountToken are not supported",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			pod := podWith(tc.source)
			pod.Labels = map[string]string{"app": "web"}
			p, err := newShelf().facts(t, pod).payloadOf(&tc.source)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			got := map[string]string{}
			for path, file := range p {
				got[path] = file.mode.String() + " " + string(file.data)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestPathsStayInTheVolume(t *testing.T) {
	bad := []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "..data", "..x/y", "a\x00b", `a\b`, strings.Repeat("x/", 3000) + "x"}
	for _, path := range bad {
		shelf := newShelf()
		shelf.configMap.Data[path] = "x"
		_, err := shelf.facts(t, podWith(ofConfigMap("cfg"))).payloadOf(new(ofConfigMap("cfg")))
		require.ErrorContains(t, err, "can't be the path of a file in a volume", "%q", path)

		item := ofConfigMap("cfg", v1.KeyToPath{Key: "empty", Path: path})
		_, err = newShelf().facts(t, podWith(item)).payloadOf(&item)
		require.ErrorContains(t, err, "can't be the path of a file in a volume", "%q", path)
	}
	for _, path := range []string{"a", ".hidden", "a..b", "a/./b/", "x/..y"} {
		require.NoError(t, payload{}.add(path, nil, 0o644), "%q", path)
	}
}

func FuzzPayloadPath(f *testing.F) {
	f.Add("a/b", "a")
	f.Add("../x", "..data")
	f.Fuzz(func(t *testing.T, first, second string) {
		p := payload{}
		_ = p.add(first, []byte("1"), 0o644)
		_ = p.add(second, []byte("2"), 0o644)
		outer := t.TempDir()
		dir := outer + "/v"
		require.NoError(t, os.Mkdir(dir, 0o755))
		if fill(dir, p, -1) != nil {
			return // a name too long, a file that is a folder too
		}
		entries, err := os.ReadDir(outer)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing beside the volume")
		for _, path := range slices.Sorted(maps.Keys(p)) {
			got, err := os.ReadFile(dir + "/" + path)
			require.NoError(t, err)
			require.Equal(t, p[path].data, got)
		}
	})
}

// A manifest can name one key under any number of paths.
func TestPayloadIsBounded(t *testing.T) {
	s := newShelf()
	s.secret.Data["big"] = make([]byte, 1<<20)
	source := func(paths int) *v1.VolumeSource {
		src := &v1.SecretVolumeSource{SecretName: "key"}
		for i := range paths {
			src.Items = append(src.Items, v1.KeyToPath{Key: "big", Path: strconv.Itoa(i)})
		}
		return &v1.VolumeSource{Secret: src}
	}
	_, err := s.facts(t, &v1.Pod{}).payloadOf(source(64))
	require.NoError(t, err)
	_, err = s.facts(t, &v1.Pod{}).payloadOf(source(65))
	require.EqualError(t, err, "it would hold more than 64 MiB")
}
