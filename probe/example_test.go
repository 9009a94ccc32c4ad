package probe_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

// One probe, made by hand.
func ExampleHTTP() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello", r.UserAgent())
	}))
	defer server.Close()
	target := probe.Target{
		IP:     "127.0.0.1",
		Ports:  []v1.ContainerPort{{Name: "web", ContainerPort: int32(server.Listener.Addr().(*net.TCPAddr).Port)}},
		Action: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("web")}},
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(new(probe.HTTP).Probe(ctx, target))
	// Output: {success hello kube-probe/1.36
	// } <nil>
}

// A Manager needs no pods of the API: here are two probes of one container, run
// as commands by its ID, as an agent of one's own has them.
func ExampleManager() {
	var containerd runtime.Execer = execFunc(func(command []string) (int, error) {
		if command[0] == "disk-full" {
			return 1, nil
		}
		return 0, nil
	})
	m, err := probe.NewManager(probe.Config{Prober: probe.Probers{Exec: &probe.Exec{Execer: containerd}}})
	if err != nil {
		panic(err)
	}
	command := func(name string) probe.Probe {
		return probe.Probe{
			Name: name, Kind: probe.Observe, Settings: probe.Settings{FailureThreshold: 1},
			Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{name}}},
		}
	}
	m.Set(runtime.PodRef{UID: "1", Name: "db"}, probe.Container{
		Name:   "postgres",
		State:  probe.State{ContainerID: "4f2a", Running: true, StartedAt: time.Now()},
		Probes: []probe.Probe{command("is-primary"), command("disk-full")},
	})
	ctx, stop := context.WithCancel(context.Background())
	go m.Run(ctx)
	verdicts := map[string]runtime.Verdict{}
	for len(verdicts) < 2 {
		<-m.Changed()
		for _, p := range m.Take() {
			verdicts[p.Probe] = p.Verdict
		}
	}
	stop()
	fmt.Println(verdicts)
	// Output: map[disk-full:failure is-primary:success]
}

// The probes of a pod, and what its status says of them.
func ExamplePodContainers() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name:           "web",
		ReadinessProbe: &v1.Probe{PeriodSeconds: 5, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/"}}},
		LivenessProbe:  &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}},
	}}}}
	for _, c := range probe.PodContainers(pod, nil) {
		for _, p := range c.Probes {
			fmt.Println(c.Name, p.Name, p.Period, p.FailureThreshold)
		}
	}
	// Output:
	// web readiness 5s 3
	// web liveness 10s 3
}

// A prober of one's own is a function.
func ExampleFunc() {
	var p probe.Prober = probe.Func(func(_ context.Context, t probe.Target) (probe.Response, error) {
		if t.IP == "" {
			return probe.Response{}, fmt.Errorf("container %s: its pod has no address yet", t.Container)
		}
		return probe.Response{Result: probe.Success, Output: "pong from " + t.IP}, nil
	})
	fmt.Println(p.Probe(context.Background(), probe.Target{Container: "web", IP: "10.0.0.7"}))
	fmt.Println(p.Probe(context.Background(), probe.Target{Container: "web"}))
	// Output:
	// {success pong from 10.0.0.7} <nil>
	// { } container web: its pod has no address yet
}
