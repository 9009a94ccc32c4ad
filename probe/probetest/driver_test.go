package probetest_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
)

func ExampleDriver() {
	d := probetest.NewDriver(probe.Liveness, probe.Settings{
		InitialDelay: 3 * time.Second, Period: 2 * time.Second, FailureThreshold: 2,
	})
	d.See(d.Running("first"))
	d.Pass(20*time.Second, probe.Success, probe.Failure, probe.Unknown, probe.Failure)
	fmt.Println("waits", d.Wait())
	d.See(d.Running("second"))
	d.Pass(4 * time.Second)
	fmt.Println(strings.Join(d.Transcript, "\n"))
	// Output:
	// waits for the next instance of the container
	//   3s success -> success
	//   5s failure, Unhealthy: Liveness probe failed: failure
	//   7s unknown, Unhealthy: Liveness probe errored and resulted in unknown state: can't ask
	//   9s failure -> failure (changed), Unhealthy: Liveness probe failed: failure
	//  23s success -> success
}
