package syncloop_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// A probe.Manager beside the loop: the host runs both.
func ExampleProbes() {
	web := pod("web")
	web.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}}}
	source := podmanagertest.NewSource()
	source.Set(web)
	pods, _ := podmanager.NewPodConfig(podmanager.Config{Sources: map[string]podmanager.PodSource{"file": source}})
	probes, _ := probe.NewManager(probe.Config{Prober: &probetest.Prober{}})

	ready := make(chan string, 100)
	loop, _ := syncloop.New(syncloop.Config{
		PodConfig: pods,
		Runtime:   runtimetest.NewFake(runtimetest.FakeConfig{}),
		Probes:    probes,
		Sink: syncloop.StatusFunc(func(_ context.Context, u syncloop.StatusUpdate) error {
			if c := u.Status.ContainerStatuses; len(c) > 0 && c[0].Ready {
				ready <- u.Pod.Name + " is ready"
			}
			return nil
		}),
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	ended := make(chan error, 2)
	go func() { ended <- probes.Run(ctx) }()
	go func() { ended <- loop.Run(ctx) }()
	fmt.Println(<-ready)
	cancel()
	fmt.Println(<-ended, <-ended)
	// Output:
	// web is ready
	// <nil> <nil>
}
