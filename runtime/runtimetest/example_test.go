package runtimetest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// A pod is started, crashes once, is restarted and killed. What the loop of an
// agent does is done by hand: read the status, make a pass, look again.
func ExampleFake() {
	ctx := context.Background()
	node := runtimetest.NewFake(runtimetest.FakeConfig{})

	pod := &v1.Pod{}
	pod.UID, pod.Namespace, pod.Name = "4711", "default", "web"
	pod.Spec.InitContainers = []v1.Container{{Name: "prepare"}}
	pod.Spec.Containers = []v1.Container{{Name: "server"}}

	pass := func(what string) {
		status, _ := node.PodStatus(ctx, pod.UID)
		_, err := node.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: status})
		status, _ = node.PodStatus(ctx, pod.UID)
		fmt.Print(what, ":")
		for _, c := range status.Containers {
			fmt.Printf(" %s %s restarts=%d;", c.Name, c.State, c.RestartCount)
		}
		if err != nil {
			fmt.Print(" ", err)
		}
		fmt.Println()
	}
	pass("first pass")
	pass("second pass")
	_ = node.Exit(pod.UID, "server", 1)
	pass("after a crash")

	err := node.KillPod(ctx, runtime.KillRequest{
		Ref: runtime.RefOf(pod), Pod: pod, Grace: 30 * time.Second, Deadline: time.Now().Add(30 * time.Second),
	})
	status, _ := node.PodStatus(ctx, pod.UID)
	fmt.Println("killed:", err, "runs:", status.Running())
	// Output:
	// first pass: prepare exited restarts=0;
	// second pass: server running restarts=0; prepare exited restarts=0;
	// after a crash: server running restarts=1; server exited restarts=0; prepare exited restarts=0;
	// killed: <nil> runs: false
}

// The first kill takes effect and seems to fail, as it does when an engine's
// answer is lost. Whoever kills pods has to ask again.
func ExampleIntercept() {
	ctx := context.Background()
	node := runtimetest.NewFake(runtimetest.FakeConfig{})
	ref := runtime.PodRef{UID: "4711", Namespace: "default", Name: "web"}
	node.Invent(ref, "server")

	lost := true
	faulty := runtimetest.Intercept(node, runtimetest.Funcs{
		After: func(_ context.Context, c runtimetest.Call, err error) error {
			if c.Method == "KillPod" && lost {
				lost = false
				return errors.Join(err, runtimetest.ErrInjected)
			}
			return err
		},
	})
	for range 2 {
		err := faulty.KillPod(ctx, runtime.KillRequest{Ref: ref, Grace: time.Second, Deadline: time.Now().Add(time.Second)})
		pods, _ := faulty.ListPods(ctx)
		fmt.Println("error:", err, "runs:", pods[0].Running)
	}
	// Output:
	// error: injected runs: false
	// error: <nil> runs: false
}

// A manifest can carry how its containers behave.
func ExampleScript_Command() {
	script := runtimetest.Script{Exits: true, RunFor: time.Minute, ExitCode: 3, IgnoresTerm: true}
	fmt.Printf("%q\n", script.Command())
	// Output:
	// ["runtimetest" "exit=3" "run-for=1m0s" "ignore-term=true"]
}

// A runtime that loses exit codes, and what the suite says about it.
func ExampleCheckRuntime() {
	err := runtimetest.CheckRuntime(context.Background(), func(context.Context) (runtimetest.RuntimeHarness, error) {
		return runtimetest.RuntimeHarness{
			Runtime:  forgetful{runtimetest.NewFake(runtimetest.FakeConfig{})},
			Programs: runtimetest.FakePrograms(),
		}, nil
	}, runtimetest.Options{
		Only: func(rule string) bool { return rule == "exit" || rule == "kill" },
	})
	fmt.Println(err)
	// Output:
	// exit: its exit code is 0, want 3
	// 	rule: A container that ended is exited, with exit code, reason and time, and stays visible.
}

// forgetful takes every end for a success.
type forgetful struct{ runtime.Runtime }

func (r forgetful) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status, err := r.Runtime.PodStatus(ctx, uid)
	if err == nil {
		for i := range status.Containers {
			status.Containers[i].ExitCode = 0
		}
	}
	return status, err
}
