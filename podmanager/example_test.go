package podmanager_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/podmanager/source"
)

func examplePod(name, uid, image string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: image}}},
	}
}

func printUpdate(u podmanager.Update) {
	fmt.Print(u.Source, " ", u.Op)
	for _, pod := range u.Pods {
		fmt.Print(" ", pod.Name)
	}
	fmt.Println()
}

// A Mux by hand: lists and deltas in, changes out.
func ExampleMux() {
	mux := podmanager.NewMux(podmanager.SourceFile, podmanager.SourceAPI)
	say := func(source string, op podmanager.Op, pods ...*v1.Pod) {
		out, err := mux.Merge(source, op, pods, time.Now())
		if err != nil {
			fmt.Println(err)
		}
		for _, u := range out.Updates {
			printUpdate(u)
		}
		for _, e := range out.Events {
			fmt.Println(e.Reason, e.Message)
		}
	}
	say("file", podmanager.OpSet, examplePod("web", "1", "nginx:1"), examplePod("db", "2", "postgres"))
	say("file", podmanager.OpSet, examplePod("web", "1", "nginx:2"), examplePod("web", "3", "nginx:3"))
	fmt.Println("heard:", mux.Seen("file"), mux.Seen("api"), mux.AllSeen())
	say("api", podmanager.OpSet)
	say("api", podmanager.OpAdd, examplePod("job", "4", "busybox"))
	say("nobody", podmanager.OpSet)
	// Output:
	// file ADD web db
	// file REMOVE db
	// file UPDATE web
	// FailedValidation Error validating pod web_default(3) from file due to duplicate pod name "web", ignoring
	// heard: true false false
	// api ADD
	// api ADD job
	// unknown source "nobody"
}

// A host that knows its pods by itself says so through a channel.
func ExamplePodConfig() {
	reports := make(chan podmanager.Report)
	config, err := podmanager.NewPodConfig(podmanager.Config{
		Sources: map[string]podmanager.PodSource{"host": source.Channel(reports)},
		OnProblem: func(p podmanager.Problem) {
			fmt.Println("problem:", p.Source, p.Err)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- config.Run(ctx) }()

	reports <- podmanager.Report{Op: podmanager.OpSet, Pods: []*v1.Pod{examplePod("web", "1", "nginx:1")}}
	printUpdate(<-config.Updates())
	reports <- podmanager.Report{Op: podmanager.OpUpdate, Pods: []*v1.Pod{examplePod("web", "1", "nginx:2")}}
	printUpdate(<-config.Updates())
	fmt.Println("all heard:", config.SeenAll())

	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// host ADD web
	// host UPDATE web
	// all heard: true
	// ended: <nil>
}

// Users see the UID of the mirror; what runs has that of the static pod.
func ExampleManager() {
	pods := podmanager.NewManager()
	pods.Put(examplePod("web", "static", "nginx"))
	mirror := examplePod("web", "mirror", "nginx")
	mirror.Annotations = map[string]string{podmanager.AnnotationMirror: "hash"}
	pods.Put(mirror)
	fmt.Println(pods.TranslateUID("mirror"), len(pods.Pods()))

	pods.Remove("static")
	fmt.Println(pods.OrphanedMirrors())
	// Output:
	// static 1
	// [web_default]
}

// The API shows a static pod through its mirror, which is replaced when the pod
// changes.
func ExampleReconcileMirror() {
	ctx := context.Background()
	api := &podmanagertest.MirrorClient{}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node-uid"}}
	pod := examplePod("web", "static", "nginx")
	for _, hash := range []string{"1", "1", "2"} {
		pod := pod.DeepCopy()
		pod.Annotations = map[string]string{podmanager.AnnotationSource: podmanager.SourceFile, podmanager.AnnotationHash: hash}
		if err := podmanager.ReconcileMirror(ctx, api, pod, api.Mirror("web_default"), node); err != nil {
			fmt.Println(err)
		}
		mirror := api.Mirror("web_default")
		fmt.Println(mirror.UID, mirror.Annotations[podmanager.AnnotationMirror])
	}
	// Output:
	// mirror-1 1
	// mirror-1 1
	// mirror-2 2
}

// A cache keeps the objects that registered pods refer to. It tells which pods are
// concerned by a change.
func ExampleCache() {
	secrets := podmanagertest.NewObjects(podmanager.KindSecret)
	secret := func(password string) podmanager.Object {
		return podmanager.SecretObject(&v1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
			Data:       map[string][]byte{"password": []byte(password)},
		})
	}
	secrets.Put(secret("hunter2"))
	cache, err := podmanager.NewCache(podmanager.CacheConfig{Secrets: secrets, Wait: time.Minute})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- cache.Run(ctx) }()

	_, err = cache.Secret(ctx, "shop", "db")
	fmt.Println(err)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1234"}}
	pod.Spec.Volumes = []v1.Volume{{Name: "db", VolumeSource: v1.VolumeSource{
		Secret: &v1.SecretVolumeSource{SecretName: "db"},
	}}}
	fmt.Println(podmanager.References(pod)[0].ObjectRef)
	cache.Register(pod)
	got, err := cache.Secret(ctx, "shop", "db")
	fmt.Println(podmanager.SecretObject(got), err)

	secrets.Put(secret("correct horse"))
	<-cache.Changed()
	fmt.Println(cache.Take())
	cancel()
	fmt.Println(<-ended)
	// Output:
	// object "shop"/"db" not registered
	// Secret shop/db
	// Secret shop/db (1 keys) <nil>
	// [1234]
	// <nil>
}
