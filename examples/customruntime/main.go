// Customruntime is a node whose containers are Go functions: what it takes to
// put an engine of one's own under kubeparts. Backend, in backend.go, is all
// that such an engine must be; podruntime makes a Runtime of it, and the sync
// loop does the rest: order, restarts, back-off, status.
//
//	go run ./examples/customruntime
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/syncloop"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "customruntime:", err)
		os.Exit(1)
	}
}

// run is a whole node: it lives until the context ends.
func run(ctx context.Context) error {
	root, err := os.MkdirTemp("", "customruntime-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	engine, err := podruntime.New(podruntime.Config{Backend: NewBackend(programs), Root: root})
	if err != nil {
		return err
	}
	updates := make(chan podmanager.Update, 1)
	loop, err := syncloop.New(syncloop.Config{
		Updates: updates,
		Runtime: engine,
		Sink:    syncloop.StatusFunc(printStatus),
	})
	if err != nil {
		return err
	}
	updates <- podmanager.Update{Source: podmanager.SourceFile, Op: podmanager.OpAdd, Pods: []*v1.Pod{
		newPod("hello", v1.RestartPolicyNever, "greet"),
		newPod("patient", v1.RestartPolicyOnFailure, "flaky"),
		newPod("clock", v1.RestartPolicyAlways, "tick"),
	}}

	running, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(running) }()
	<-ctx.Done()
	err = loop.Shutdown(running, syncloop.ShutdownOptions{})
	end()
	return errors.Join(err, <-ended)
}

// newPod is a pod of one container. Pods that come from a file or an API server
// have their defaults filled in; one made by hand needs those that matter.
func newPod(name string, policy v1.RestartPolicy, image string) *v1.Pod {
	links := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name + "-1")},
		Spec: v1.PodSpec{
			RestartPolicy:      policy,
			EnableServiceLinks: &links,
			Containers:         []v1.Container{{Name: "main", Image: image, ImagePullPolicy: v1.PullIfNotPresent}},
		},
	}
}

// printStatus is told of whatever changed in a status: of what it prints here, the
// phase and the restarts, that may be nothing.
func printStatus(_ context.Context, u syncloop.StatusUpdate) error {
	restarts := int32(0)
	for _, c := range u.Status.ContainerStatuses {
		restarts += c.RestartCount
	}
	fmt.Printf("%-8s %-10s restarts=%d\n", u.Pod.Name, u.Status.Phase, restarts)
	return nil
}
