package manifest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// probes checks probes and hooks of a container that may have them.
func (c *checker) probes(path *field.Path, container *v1.Container) {
	c.probe(path.Child("readinessProbe"), container.ReadinessProbe)
	if p := container.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		c.invalid(path.Child("readinessProbe", "terminationGracePeriodSeconds"), *p.TerminationGracePeriodSeconds, "must not be set for readinessProbes")
	}
	c.killingProbe(path.Child("livenessProbe"), container.LivenessProbe)
	c.killingProbe(path.Child("startupProbe"), container.StartupProbe)
	if container.Lifecycle != nil {
		c.lifecycle(path.Child("lifecycle"), container.Lifecycle)
	}
}

// killingProbe is a probe whose failure stops the container: one success is
// enough for it.
func (c *checker) killingProbe(path *field.Path, probe *v1.Probe) {
	c.probe(path, probe)
	if probe == nil {
		return
	}
	if probe.SuccessThreshold != 1 {
		c.invalid(path.Child("successThreshold"), probe.SuccessThreshold, "must be 1")
	}
	if probe.TerminationGracePeriodSeconds != nil {
		atLeast(c, path.Child("terminationGracePeriodSeconds"), *probe.TerminationGracePeriodSeconds, 1)
	}
}

func (c *checker) probe(path *field.Path, probe *v1.Probe) {
	if probe == nil {
		return
	}
	c.handler(path, handler{exec: probe.Exec, httpGet: probe.HTTPGet, tcpSocket: probe.TCPSocket, grpc: probe.GRPC})
	atLeast(c, path.Child("initialDelaySeconds"), probe.InitialDelaySeconds, 0)
	atLeast(c, path.Child("timeoutSeconds"), probe.TimeoutSeconds, 0)
	atLeast(c, path.Child("periodSeconds"), probe.PeriodSeconds, 0)
	atLeast(c, path.Child("successThreshold"), probe.SuccessThreshold, 0)
	atLeast(c, path.Child("failureThreshold"), probe.FailureThreshold, 0)
}

func (c *checker) lifecycle(path *field.Path, lifecycle *v1.Lifecycle) {
	c.hook(path.Child("postStart"), lifecycle.PostStart)
	c.hook(path.Child("preStop"), lifecycle.PreStop)
	if lifecycle.StopSignal != nil {
		c.stopSignal(path.Child("stopSignal"), *lifecycle.StopSignal)
	}
}

func (c *checker) hook(path *field.Path, hook *v1.LifecycleHandler) {
	if hook != nil {
		c.handler(path, handler{exec: hook.Exec, httpGet: hook.HTTPGet, tcpSocket: hook.TCPSocket, sleep: hook.Sleep})
	}
}

// handler is what a probe or a hook does.
type handler struct {
	exec      *v1.ExecAction
	httpGet   *v1.HTTPGetAction
	tcpSocket *v1.TCPSocketAction
	grpc      *v1.GRPCAction
	sleep     *v1.SleepAction
}

func (c *checker) handler(path *field.Path, h handler) {
	switch set := countSet(h.exec != nil, h.httpGet != nil, h.tcpSocket != nil, h.grpc != nil, h.sleep != nil); {
	case set == 0:
		c.required(path, "must specify a handler type")
	case set > 1:
		c.forbidden(path, "may not specify more than 1 handler type")
	}
	if h.exec != nil && len(h.exec.Command) == 0 {
		c.required(path.Child("exec", "command"), "")
	}
	if h.httpGet != nil {
		c.httpGet(path.Child("httpGet"), h.httpGet)
	}
	if h.tcpSocket != nil {
		c.portOrName(path.Child("tcpSocket", "port"), h.tcpSocket.Port)
	}
	if h.grpc != nil {
		c.portNumber(path.Child("grpc", "port"), h.grpc.Port)
	}
	if h.sleep != nil {
		c.sleep(path.Child("sleep", "seconds"), h.sleep.Seconds)
	}
}

func (c *checker) httpGet(path *field.Path, get *v1.HTTPGetAction) {
	c.portOrName(path.Child("port"), get.Port)
	oneOf(c, path.Child("scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)
	for i, header := range get.HTTPHeaders {
		c.invalid(path.Child("httpHeaders").Index(i).Child("name"), header.Name, validation.IsHTTPHeaderName(header.Name)...)
	}
}

// sleep may not outlast the pod's grace period.
func (c *checker) sleep(path *field.Path, seconds int64) {
	if grace := *c.spec.TerminationGracePeriodSeconds; seconds < 0 || seconds > grace {
		c.invalid(path, seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", grace))
	}
}

// stopSignal depends on the operating system, which must be named for it.
func (c *checker) stopSignal(path *field.Path, signal v1.Signal) {
	if c.spec.OS == nil {
		c.forbidden(path, "may not be set for containers with empty `spec.os.name`")
		return
	}
	allowed := linuxSignals
	if c.spec.OS.Name == v1.Windows {
		allowed = []v1.Signal{v1.SIGKILL, v1.SIGTERM}
	}
	oneOf(c, path, signal, allowed...)
}

var linuxSignals = newLinuxSignals()

func newLinuxSignals() []v1.Signal {
	signals := []v1.Signal{
		v1.SIGABRT, v1.SIGALRM, v1.SIGBUS, v1.SIGCHLD, v1.SIGCLD, v1.SIGCONT, v1.SIGFPE, v1.SIGHUP, v1.SIGILL, v1.SIGINT,
		v1.SIGIO, v1.SIGIOT, v1.SIGKILL, v1.SIGPIPE, v1.SIGPOLL, v1.SIGPROF, v1.SIGPWR, v1.SIGQUIT, v1.SIGSEGV, v1.SIGSTKFLT,
		v1.SIGSTOP, v1.SIGSYS, v1.SIGTERM, v1.SIGTRAP, v1.SIGTSTP, v1.SIGTTIN, v1.SIGTTOU, v1.SIGURG, v1.SIGUSR1, v1.SIGUSR2,
		v1.SIGVTALRM, v1.SIGWINCH, v1.SIGXCPU, v1.SIGXFSZ, v1.SIGRTMIN, v1.SIGRTMAX,
	}
	for i := 1; i <= 15; i++ {
		signals = append(signals, v1.Signal(fmt.Sprintf("SIGRTMIN+%d", i)))
	}
	for i := 14; i >= 1; i-- {
		signals = append(signals, v1.Signal(fmt.Sprintf("SIGRTMAX-%d", i)))
	}
	return signals
}
