package main

import (
	"context"
	"strings"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

const webManifest = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: server, image: nginx, resources: {limits: {cpu: 500m}}}
`

func walkManifest(_ context.Context, p *page) error {
	p.intro(`A static pod begins as a file or as the body of a URL. The decoder gives it what
		the API server would have given it: defaults, a name of this node, a UID.`)
	decoder := manifest.Decoder{Source: podmanager.SourceFile, NodeName: "node-a"}
	const file = "/etc/manifests/web.yaml"

	p.step("A good manifest", "manifest.Decoder.Decode")
	p.in("# %s\n%s", file, webManifest)
	pod := decoder.Decode([]byte(webManifest), file).Pods[0]
	t := &table{}
	t.row("name", pod.Name)
	t.row("namespace", pod.Namespace)
	t.row("uid", pod.UID)
	t.row("nodeName", pod.Spec.NodeName)
	t.row("restartPolicy", pod.Spec.RestartPolicy)
	t.row("imagePullPolicy", pod.Spec.Containers[0].ImagePullPolicy)
	t.row("requests.cpu", pod.Spec.Containers[0].Resources.Requests.Cpu())
	p.out("%s", t)
	p.why(`The UID is a hash of the content, the node and the path: the same file gives the
		same pod after a restart. An image without a tag is latest, so it is always
		pulled. A limit without a request is the request.`)

	p.step("Another content", "manifest.Decoder.Decode")
	p.in("the same file, with cpu: 250m")
	other := decoder.Decode([]byte(strings.ReplaceAll(webManifest, "500m", "250m")), file).Pods[0]
	p.out("uid  %s", other.UID)
	p.why("A static pod is not updated. It is replaced by another one of its name.")

	p.step("A bad manifest", "manifest.Decoder.Decode")
	p.in("the same file, without an image")
	result := decoder.Decode([]byte(strings.ReplaceAll(webManifest, "image: nginx, ", "")), file)
	for _, err := range result.Errors {
		p.out("refused at step %s\n%v", err.Kind, err)
	}
	p.why(`The error names file, pod and field. The other files of the folder still count, and
		a pod that runs from an earlier version of this one goes on running.`)
	return nil
}
