package runtime_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// An engine that pulls asks with one credential after another. None is printed.
func ExampleCredentials() {
	secret := &v1.Secret{Type: v1.SecretTypeDockerConfigJson, Data: map[string][]byte{
		v1.DockerConfigJsonKey: []byte(`{"auths":{
			"registry.example":      {"username": "all",  "password": "hunter2"},
			"registry.example/team": {"username": "team", "password": "hunter3"},
			"elsewhere.example":     {"username": "me",   "password": "hunter4"}}}`),
	}}
	found, err := runtime.Credentials("registry.example/team/web:1", []*v1.Secret{secret})
	fmt.Println(found, err)
	fmt.Println(found[0].Username)
	// Output:
	// [credential of registry.example/team credential of registry.example] <nil>
	// team
}
