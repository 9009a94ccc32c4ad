package syncloop_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// A host that has a handler of its own drives the bare loop, one event a step.
func ExampleStep() {
	config := make(chan podmanager.Update, 3)
	config <- podmanager.Update{Source: "file", Op: podmanager.OpAdd, Pods: []*v1.Pod{pod("web")}}
	config <- podmanager.Update{Source: "file", Op: podmanager.OpSet}
	config <- podmanager.Update{Source: "file", Op: podmanager.OpDelete, Pods: []*v1.Pod{pod("web")}}
	close(config)

	handler := syncloop.HandlerFuncs{
		Additions:  func(source string, pods []*v1.Pod) { fmt.Println("add", pods[0].Name, "of", source) },
		Updates:    func(_ string, pods []*v1.Pod) { fmt.Println("update", pods[0].Name) },
		Unexpected: func(u podmanager.Update) { fmt.Println("nobody understands", u.Op) },
	}
	for syncloop.Step(context.Background(), syncloop.Channels{Config: config}, handler, nil) {
	}
	fmt.Println("the config channel is closed")
	// Output:
	// add web of file
	// nobody understands SET
	// update web
	// the config channel is closed
}

// A whole node: a source, a runtime, and a table that the statuses go to.
func ExampleSyncLoop() {
	source := podmanagertest.NewSource()
	source.Set(pod("web"))
	pods, _ := podmanager.NewPodConfig(podmanager.Config{
		Sources: map[string]podmanager.PodSource{"file": source},
	})
	ready := make(chan struct{})
	loop, _ := syncloop.New(syncloop.Config{
		PodConfig: pods,
		Runtime:   runtimetest.NewFake(runtimetest.FakeConfig{}),
		Sink: syncloop.StatusFunc(func(_ context.Context, u syncloop.StatusUpdate) error {
			if u.Status.Phase == v1.PodRunning {
				fmt.Println(u.Pod.Name, "runs with", u.Status.PodIP)
				close(ready)
			}
			return nil
		}),
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- loop.Run(ctx) }()

	<-ready
	_ = loop.Shutdown(ctx, syncloop.ShutdownOptions{})
	for _, p := range loop.Pods() {
		fmt.Println(p.Name, p.Stage)
	}
	cancel()
	fmt.Println(<-done)
	// Output:
	// web runs with 10.0.0.1
	// web finished
	// <nil>
}
