package podruntime_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// A Runtime out of a Backend, here one in memory. Pass after pass brings the pod
// nearer to its spec; the sync loop does this for a host.
func Example() {
	ctx := context.Background()
	root, err := os.MkdirTemp("", "podruntime")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	rt, err := podruntime.New(podruntime.Config{
		Backend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{}),
		Root:    root,
	})
	if err != nil {
		log.Fatal(err)
	}

	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1234"},
		Spec: v1.PodSpec{
			InitContainers: []v1.Container{{Name: "setup", Image: "img", Command: runtimetest.ExitsWith(0).Command()}},
			Containers:     []v1.Container{{Name: "server", Image: "img"}},
		},
	}
	for pass := 1; ; pass++ {
		status, err := rt.PodStatus(ctx, pod.UID)
		if err != nil {
			log.Fatal(err)
		}
		result, err := rt.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: status})
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range result.Containers {
			fmt.Println("pass", pass, "started", c.Container)
		}
		if !result.Acted {
			break
		}
	}
	err = rt.KillPod(ctx, runtime.KillRequest{Ref: runtime.RefOf(pod), Pod: pod, Grace: 30 * time.Second})
	fmt.Println("killed:", err)
	fmt.Println("removed:", rt.RemovePod(ctx, pod.UID))
	// Output:
	// pass 1 started setup
	// pass 2 started server
	// killed: <nil>
	// removed: <nil>
}
