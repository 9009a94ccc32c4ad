package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

func walkObjects(ctx context.Context, p *page) error {
	p.intro(`A pod names ConfigMaps and Secrets. The agent keeps those, and no others, from the
		pod's first sync until its end: one watch a namespace serves all of its pods.`)
	secrets := podmanagertest.NewObjects(podmanager.KindSecret)
	cache, err := podmanager.NewCache(podmanager.CacheConfig{Secrets: secrets, Wait: time.Minute})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	read := func() string {
		secret, err := cache.Secret(ctx, "default", "db")
		if err != nil {
			return err.Error()
		}
		return podmanager.SecretObject(secret).String()
	}

	p.step("What a pod refers to", "podmanager.References")
	web := newPod("web", func(pod *v1.Pod) {
		pod.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{
			LocalObjectReference: v1.LocalObjectReference{Name: "db"},
		}}}
		pod.Spec.Volumes = []v1.Volume{{Name: "db", VolumeSource: v1.VolumeSource{
			Secret: &v1.SecretVolumeSource{SecretName: "db"},
		}}}
	})
	p.in("pod web with envFrom and a volume of Secret db")
	p.out("%s", showReferences(podmanager.References(web)))
	p.why("It is found out once for each version of the pod, wherever the name stands.")

	p.step("A Secret that nobody refers to", "podmanager.Cache.Secret")
	p.in("read Secret db before the pod's first sync")
	p.out("%s", read())
	p.why("What no pod on this node needs, this node has no business with.")

	p.step("The pod comes, the Secret is not there yet", "podmanager.Cache.Register", "podmanager.Cache.Secret")
	cache.Register(web)
	p.in("register web, read Secret db")
	p.out("%s", read())
	p.why("The container waits with CreateContainerConfigError and these words.")

	p.step("The Secret appears", "podmanager.Cache.Changed", "podmanager.Cache.Take")
	secrets.Put(podmanager.SecretObject(&v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"},
		Data:       map[string][]byte{"password": []byte("hunter2")},
	}))
	select {
	case <-cache.Changed():
	case <-ctx.Done():
		return ctx.Err()
	}
	p.in("password: hunter2")
	p.out("pods to be synced: %v", cache.Take())
	p.out("read: %s", read())
	p.why(`The pod is synced at once, and its container starts. However an object is printed,
		its content is not in it.`)

	p.step("The pod goes", "podmanager.Cache.Unregister", "podmanager.Cache.Stats")
	cache.Unregister(web.UID)
	stats := cache.Stats()
	p.in("unregister web")
	p.out("%d objects, %d watches", stats.Objects, stats.Watches)
	p.out("read: %s", read())
	p.why("With the last pod that refers to it the object is forgotten, and its watch ends.")
	return nil
}

func showReferences(refs []podmanager.Reference) string {
	var lines []string
	for _, ref := range refs {
		need := "needed"
		if ref.Optional {
			need = "optional"
		}
		lines = append(lines, fmt.Sprintf("%s, %s", ref.ObjectRef, need))
	}
	return strings.Join(lines, "\n")
}
