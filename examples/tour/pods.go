package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// noon is when everything here happens. It is passed to the library as the time.
var noon = time.Date(2030, time.January, 2, 12, 0, 0, 0, time.UTC)

// clock prints a time of that day.
func clock(t time.Time) string { return t.Format(time.TimeOnly) }

// newPod makes a pod with one container, named main unless a change says
// otherwise.
func newPod(name string, changes ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID("uid-" + name), Namespace: "default", Name: name},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways,
			Containers:    []v1.Container{{Name: "main", Image: "main:1"}},
		},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func uid(uid types.UID) func(*v1.Pod) { return func(p *v1.Pod) { p.UID = uid } }

func containers(names ...string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers = containersOf(names) }
}

func inits(names ...string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.InitContainers = containersOf(names) }
}

// sidecar adds an init container that stays.
func sidecar(name string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		always := v1.ContainerRestartPolicyAlways
		c := v1.Container{Name: name, Image: name + ":1", RestartPolicy: &always}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
}

func containersOf(names []string) []v1.Container {
	var list []v1.Container
	for _, name := range names {
		list = append(list, v1.Container{Name: name, Image: name + ":1"})
	}
	return list
}

func policy(policy v1.RestartPolicy) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.RestartPolicy = policy }
}

func grace(seconds int64) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// requests sets what the first container asks for, as name, quantity, ...
func requests(pairs ...string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = resources(pairs...) }
}

func resources(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// static makes it a pod of a file.
func static(p *v1.Pod) {
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, podmanager.AnnotationSource, podmanager.SourceFile)
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, podmanager.AnnotationHash, "hash-of-"+string(p.UID))
}

// changed is a copy of a pod with changes. A pod that was handed to the library
// is never written to, by anyone.
func changed(pod *v1.Pod, changes ...func(*v1.Pod)) *v1.Pod {
	pod = pod.DeepCopy()
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// newNode is a node with these allocatable resources.
func newNode(pairs ...string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-a", UID: "uid-node-a"},
		Status:     v1.NodeStatus{Allocatable: resources(pairs...)},
	}
}

func names(pods []*v1.Pod) []string {
	var list []string
	for _, p := range pods {
		list = append(list, p.Name)
	}
	return list
}

func deletedAt(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
