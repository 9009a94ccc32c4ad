package manifest_test

import (
	"errors"
	"fmt"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// A manifest becomes a pod of this node, with everything that the API server
// would have set.
func ExampleDecoder_Decode() {
	d := manifest.Decoder{Source: podmanager.SourceFile, NodeName: "node-a"}
	result := d.Decode([]byte(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: main
    image: busybox:1.36
    resources: {limits: {cpu: 500m}}
`), "/etc/manifests/web.yaml")

	pod := result.Pods[0]
	fmt.Println(pod.Namespace, pod.Name, pod.UID)
	fmt.Println(pod.Spec.RestartPolicy, pod.Spec.Containers[0].ImagePullPolicy, pod.Spec.Containers[0].Resources.Requests.Cpu())
	// Output:
	// default web-node-a 015618f0a8d614252b7ca0097d721965
	// Always IfNotPresent 500m
}

// What is wrong is told by file, pod and field; what is only odd is a warning.
func ExampleDecoder_Decode_refused() {
	d := manifest.Decoder{NodeName: "node-a"}
	result := d.Decode([]byte(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: Sometimes
  containers:
  - {name: main, image: busybox, volumeMounts: [{name: data, mountPath: /data}], prots: []}
`), "web.yaml")

	var refused *podmanager.ManifestError
	fmt.Println(errors.As(result.Errors[0], &refused), refused.Kind)
	fmt.Println(refused)
	fmt.Println(result.Warnings[0])
	// Output:
	// true validation
	// web.yaml: pod default/web-node-a: [spec.containers[0].volumeMounts[0].name: Not found: "data", spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"]
	// web.yaml: passed over: unknown field "spec.containers[0].prots"
}

// From a URL a list is welcome, and a bad item harms no other.
func ExampleResult_list() {
	d := manifest.Decoder{Source: podmanager.SourceHTTP, NodeName: "node-a"}
	result := d.Decode([]byte(`
apiVersion: v1
kind: PodList
items:
- metadata: {name: good}
  spec: {containers: [{name: c, image: i}]}
- metadata: {name: bad}
  spec: {containers: []}
`), "http://config.example/pods")

	for _, pod := range result.Pods {
		fmt.Println("runs:", pod.Name)
	}
	for _, err := range result.Errors {
		fmt.Println("refused:", err)
	}
	// Output:
	// runs: good-node-a
	// refused: http://config.example/pods: pod default/bad-node-a: items[1]: spec.containers: Required value
}
