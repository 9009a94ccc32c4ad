package podruntime_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
)

// objects are ConfigMaps and Secrets of the namespace default, by their names.
type objects struct {
	mu         sync.Mutex
	configMaps map[string]*v1.ConfigMap
	secrets    map[string]*v1.Secret
	err        error
	registered map[types.UID]bool
}

func (o *objects) ConfigMap(_ context.Context, namespace, name string) (*v1.ConfigMap, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	object := o.configMaps[name]
	switch {
	case o.err != nil:
		return nil, o.err
	case object == nil || namespace != "default":
		return nil, apierrors.NewNotFound(v1.Resource("configmap"), name)
	}
	return object, nil
}

func (o *objects) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	object := o.secrets[name]
	switch {
	case o.err != nil:
		return nil, o.err
	case object == nil || namespace != "default":
		return nil, apierrors.NewNotFound(v1.Resource("secret"), name)
	}
	return object, nil
}

func (o *objects) Register(pod *v1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.registered == nil {
		o.registered = map[types.UID]bool{}
	}
	o.registered[pod.UID] = true
}

func (o *objects) Unregister(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.registered, uid)
}

func configMap(name string, data map[string]string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}

func secret(name string, data map[string]string) *v1.Secret {
	s := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func configMapKey(name, key string, optional ...bool) *v1.EnvVarSource {
	ref := &v1.ConfigMapKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: name}, Key: key}
	if len(optional) > 0 {
		ref.Optional = &optional[0]
	}
	return &v1.EnvVarSource{ConfigMapKeyRef: ref}
}

func secretKey(name, key string, optional ...bool) *v1.EnvVarSource {
	ref := &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: name}, Key: key}
	if len(optional) > 0 {
		ref.Optional = &optional[0]
	}
	return &v1.EnvVarSource{SecretKeyRef: ref}
}

func TestEnvironmentOfObjects(t *testing.T) {
	const yes = true
	all := &objects{
		configMaps: map[string]*v1.ConfigMap{
			"web": configMap("web", map[string]string{"PORT": "80", "log.level": "$(PORT)", "bad=key": "x", "NUL": "a\x00b"}),
		},
		secrets: map[string]*v1.Secret{
			"db": secret("db", map[string]string{"user": "robot", "password": "hunter2", "NUL": "a\x00b"}),
		},
	}
	from := v1.EnvFromSource{Prefix: "WEB_", ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "web"}}}
	fromNowhere := v1.EnvFromSource{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "none"}}}
	for _, tc := range []struct {
		name    string
		envFrom []v1.EnvFromSource
		env     []v1.EnvVar
		down    error
		want    []runtime.EnvVar
		message string
		event   string
	}{{
		name:    "all keys, with a prefix; later definitions win and see them",
		envFrom: []v1.EnvFromSource{from},
		env:     []v1.EnvVar{{Name: "WEB_PORT", Value: "8$(WEB_PORT)"}, {Name: "USER", ValueFrom: secretKey("db", "user")}},
		want:    []runtime.EnvVar{{Name: "WEB_PORT", Value: "880"}, {Name: "WEB_log.level", Value: "$(PORT)"}, {Name: "USER", Value: "robot"}},
		event: "Warning InvalidEnvironmentVariableNames : Keys [WEB_NUL, WEB_bad=key] from the EnvFrom configMap default/web " +
			"were skipped since they are considered invalid environment variable names.",
	}, {
		name: "a key that is optional is left out",
		env:  []v1.EnvVar{{Name: "A", ValueFrom: secretKey("db", "none", yes)}, {Name: "B", ValueFrom: configMapKey("none", "k", yes)}},
	}, {
		name:    "a key that is not there",
		env:     []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("web", "none")}},
		message: "couldn't find key none in ConfigMap default/web",
	}, {
		name:    "a key of a Secret that is not there",
		env:     []v1.EnvVar{{Name: "A", ValueFrom: secretKey("db", "none")}},
		message: "couldn't find key none in Secret default/db",
	}, {
		name:    "an object that is not there",
		env:     []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("none", "k")}},
		message: `configmap "none" not found`,
	}, {
		name:    "an object whose keys are wanted, and that is not there",
		envFrom: []v1.EnvFromSource{fromNowhere},
		message: `secret "none" not found`,
	}, {
		name:    "nobody knows, although it is optional",
		env:     []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("web", "k", yes)}},
		down:    errors.New("failed to sync configmap cache"),
		message: "failed to sync configmap cache",
	}, {
		name:    "a value that no variable can hold",
		env:     []v1.EnvVar{{Name: "A", ValueFrom: secretKey("db", "NUL")}},
		message: "env A: key NUL of Secret default/db: a value with a NUL can't be in an environment",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all.err = tc.down
				backend := newFaulty(nil)
				n := newNode(t, nil, podruntime.Config{Backend: backend, Objects: all})
				pod := newPod("web", container("main"))
				pod.Spec.Containers[0].EnvFrom, pod.Spec.Containers[0].Env = tc.envFrom, tc.env
				res, err := n.sync(pod)
				require.NoError(t, err)
				require.Equal(t, map[types.UID]bool{pod.UID: true}, all.registered)
				if tc.message != "" {
					require.Equal(t, []runtime.StartResult{{
						Container: "main", Reason: "CreateContainerConfigError", Message: tc.message,
					}}, res.Containers)
				} else {
					require.Equal(t, tc.want, backend.configs["main/0"].Env)
				}
				if tc.event != "" {
					require.Contains(t, n.events.take(), tc.event)
				}
				require.NoError(t, n.kill(pod, time.Second))
				require.NoError(t, n.RemoveVolumes(t.Context(), pod.UID))
				require.Empty(t, all.registered)
			})
		})
	}
}
