//go:build unix

// Command probebench measures what it costs to probe many containers: CPU an
// attempt, memory and goroutines, and how late attempts begin.
//
//	go run ./probe/internal/probebench -kind http -probes 10000 -period 10s
//
// Probes of kind http and tcp go to a server in another process; those of kind
// exec to a prober that does nothing, so that what is left is the manager.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

func main() {
	kind := flag.String("kind", "http", "http, tcp or exec")
	probes := flag.Int("probes", 10_000, "how many")
	period := flag.Duration("period", 10*time.Second, "of each probe")
	measure := flag.Duration("for", 30*time.Second, "how long to measure, after one period")
	serve := flag.Bool("serve", false, "be the server")
	flag.Parse()
	if *serve {
		log.Fatal(server())
	}
	if err := bench(*kind, *probes, *period, *measure); err != nil {
		log.Fatal(err)
	}
}

// server answers until its standard input ends.
func server() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}()
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
}

// startServer starts the server in a process of its own, which ends with this one.
func startServer() (port int, stop func(), err error) {
	cmd := exec.Command(os.Args[0], "-serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	_, err = fmt.Fscan(out, &port)
	return port, func() { in.Close(); cmd.Wait() }, err
}

// tally collects what attempts came to.
type tally struct {
	mu     sync.Mutex
	late   []time.Duration
	took   time.Duration
	failed int
	// failure is the last one.
	failure string
}

func (t *tally) add(a probe.AttemptInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = append(t.late, a.Late)
	t.took += a.Took
	if a.Err != nil || a.Result != probe.Success {
		t.failed++
		t.failure = a.Output
	}
}

func bench(kind string, probes int, period, measure time.Duration) error {
	port, stop, err := startServer()
	if err != nil {
		return err
	}
	defer stop()
	action, prober, err := actionOf(kind, port)
	if err != nil {
		return err
	}
	before := heap()
	t := &tally{}
	m, err := probe.NewManager(probe.Config{Prober: prober, Hooks: probe.Hooks{Attempt: t.add}})
	if err != nil {
		return err
	}
	state := probe.State{ContainerID: "id", Running: true, StartedAt: time.Now().Add(-time.Hour)}
	for i := range probes {
		uid := types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		m.Set(runtime.PodRef{UID: uid, Namespace: "default", Name: string(uid)}, probe.Container{
			Name: "c", IP: "127.0.0.1", State: state,
			Probes: []probe.Probe{{Name: "readiness", Kind: probe.Readiness, Settings: probe.Settings{Period: period}, Action: action}},
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	<-time.After(period + time.Second)
	after := heap()
	t.mu.Lock()
	t.late, t.took, t.failed = make([]time.Duration, 0, int(2*measure.Seconds()/period.Seconds()+2)*probes), 0, 0
	t.mu.Unlock()

	cpu, began := cpuTime(), time.Now()
	most := 0
	for time.Since(began) < measure {
		<-time.After(min(measure, time.Second)) // seldom: to wake up is part of what is measured
		most = max(most, goruntime.NumGoroutine())
	}
	cpu = cpuTime() - cpu
	took := time.Since(began)
	cancel()
	<-done
	report(kind, probes, period, t, cpu, took)
	fmt.Printf("goroutines: %d at most; heap a probe: %d bytes\n", most, (int64(after)-int64(before))/int64(probes))
	return nil
}

func actionOf(kind string, port int) (v1.ProbeHandler, probe.Prober, error) {
	at := intstr.FromInt32(int32(port))
	switch kind {
	case "http":
		return v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: at}}, probe.Probers{}, nil
	case "tcp":
		return v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: at}}, probe.Probers{}, nil
	case "exec":
		free := probe.Func(func(context.Context, probe.Target) (probe.Response, error) {
			return probe.Response{Result: probe.Success}, nil
		})
		return v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}, free, nil
	}
	return v1.ProbeHandler{}, nil, fmt.Errorf("unknown kind %q", kind)
}

func report(kind string, probes int, period time.Duration, t *tally, cpu, took time.Duration) {
	n := len(t.late)
	if n == 0 {
		fmt.Println("no attempt was made")
		return
	}
	slices.Sort(t.late)
	fmt.Printf("%d %s probes every %s: %d attempts in %s (%.0f/s), %d failed, %s each\n",
		probes, kind, period, n, took.Round(time.Millisecond), float64(n)/took.Seconds(), t.failed, (t.took / time.Duration(n)).Round(time.Microsecond))
	if t.failed > 0 {
		fmt.Printf("the last failure: %s\n", t.failure)
	}
	fmt.Printf("CPU: %.1f %% of one core, %s an attempt\n", 100*cpu.Seconds()/took.Seconds(), (cpu / time.Duration(n)).Round(100*time.Nanosecond))
	fmt.Printf("late: p50 %s, p99 %s, most %s\n", t.late[n/2].Round(100*time.Microsecond), t.late[n*99/100].Round(100*time.Microsecond), t.late[n-1].Round(100*time.Microsecond))
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() uint64 {
	goruntime.GC()
	var s goruntime.MemStats
	goruntime.ReadMemStats(&s)
	return s.HeapAlloc
}
