package runtime_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func dockerConfig(auths map[string]map[string]string) *v1.Secret {
	data, _ := json.Marshal(map[string]any{"auths": auths})
	return &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pull"},
		Type:       v1.SecretTypeDockerConfigJson, Data: map[string][]byte{v1.DockerConfigJsonKey: data},
	}
}

func named(user string) map[string]string {
	return map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(user + ":hush"))}
}

func TestCredentials(t *testing.T) {
	secrets := []*v1.Secret{dockerConfig(map[string]map[string]string{
		"https://index.docker.io/v1/":  named("hub"),
		"registry.example":             named("host"),
		"registry.example/team":        named("team"),
		"registry.example:5000":        named("port"),
		"*.mirrors.example":            named("glob"),
		"http://plain.example/v2/team": {"username": "plain", "password": "hush"},
	})}
	for image, want := range map[string][]string{
		"web":                          {"hub"},
		"library/web:1":                {"hub"},
		"docker.io/library/web":        {"hub"},
		"registry.example/web":         {"host"},
		"registry.example/team/web":    {"team", "host"},
		"registry.example:5000/web":    {"port"},
		"eu.mirrors.example/web":       {"glob"},
		"a.eu.mirrors.example/web":     nil,
		"mirrors.example/web":          nil,
		"plain.example/team/web":       {"plain"},
		"plain.example/other":          nil,
		"registry.example.evil.io/web": nil,
	} {
		got, err := runtime.Credentials(image, secrets)
		require.NoError(t, err)
		var users []string
		for _, c := range got {
			users = append(users, c.Username)
			require.Equal(t, "hush", c.Password)
		}
		require.Equal(t, want, users, image)
	}
}

func TestCredentialsOfTheOlderType(t *testing.T) {
	data, _ := json.Marshal(map[string]any{"registry.example": named("old")})
	got, err := runtime.Credentials("registry.example/web", []*v1.Secret{{
		Type: v1.SecretTypeDockercfg, Data: map[string][]byte{v1.DockerConfigKey: data},
	}, {
		Type: v1.SecretTypeOpaque, Data: map[string][]byte{v1.DockerConfigJsonKey: []byte("not asked for")},
	}})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "old", got[0].Username)
}

// A bad secret is named, what is in it is not, and the others count.
func TestBadPullSecrets(t *testing.T) {
	bad := dockerConfig(map[string]map[string]string{
		"registry.example": {"auth": "hush, not base64"}, "other.example": named("robot"),
	})
	worse := dockerConfig(nil)
	worse.Name, worse.Data = "worse", map[string][]byte{v1.DockerConfigJsonKey: []byte(`{"auths":hush}`)}
	got, err := runtime.Credentials("other.example/web", []*v1.Secret{bad, worse, dockerConfig(map[string]map[string]string{"[": named("x")})})
	require.EqualError(t, err, "pull secret shop/pull: an auth in it is not user:password in base64"+
		"\npull secret shop/worse: it is no docker configuration")
	require.Len(t, got, 1)
	require.Equal(t, "robot", got[0].Username)
}

func TestCredentialDoesNotPrintItself(t *testing.T) {
	c := runtime.Credential{Registry: "registry.example", Username: "robot", Password: "hush"}
	asJSON, err := json.Marshal(c)
	require.NoError(t, err)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %x", c, c, &c, []runtime.Credential{c}, c), string(asJSON)} {
		require.NotContains(t, text, "hush")
		require.NotContains(t, text, "robot")
	}
}

func FuzzCredentials(f *testing.F) {
	f.Add("registry.example/web", []byte(`{"auths":{"https://registry.example/v1/":{"auth":"YTpi"}}}`))
	f.Fuzz(func(t *testing.T, image string, config []byte) {
		secret := &v1.Secret{Type: v1.SecretTypeDockerConfigJson, Data: map[string][]byte{v1.DockerConfigJsonKey: config}}
		first, err := runtime.Credentials(image, []*v1.Secret{secret})
		second, again := runtime.Credentials(image, []*v1.Secret{secret})
		require.Equal(t, first, second)
		require.Equal(t, err == nil, again == nil)
	})
}
