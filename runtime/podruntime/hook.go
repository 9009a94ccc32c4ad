package podruntime

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/runtime"
)

// hookAgent is the User-Agent of HTTP hooks, with the version of Kubernetes
// whose rules they follow.
const hookAgent = "kube-lifecycle/1.36"

const (
	// hookHeaderLimit is how many bytes of an answer's header are read; net/http
	// takes 10 MiB, and puts a line of them that it does not understand into its
	// error.
	hookHeaderLimit = 64 << 10
	// hookErrorLimit is how many bytes of a hook's error are logged.
	hookErrorLimit = 1 << 10
)

// hookTarget is a container with the hook to run in it.
type hookTarget struct {
	container *v1.Container
	handler   *v1.LifecycleHandler
	// podIP returns the address that an HTTP hook goes to unless it names a
	// host.
	podIP func(context.Context) (string, error)
	// object is what events are about.
	object *v1.ObjectReference
}

// runHook runs a hook to its end, or the context's. An error is short enough to
// be logged, whatever a server answered.
func (r *Runtime) runHook(ctx context.Context, t *hookTarget, containerID string) error {
	err := r.handle(ctx, t, containerID)
	if err == nil || len(err.Error()) <= hookErrorLimit {
		return err
	}
	return errors.New(strings.ToValidUTF8(err.Error()[:hookErrorLimit], "") + "...")
}

func (r *Runtime) handle(ctx context.Context, t *hookTarget, containerID string) error {
	h := t.handler
	switch {
	case h.Exec != nil:
		code, err := r.Exec(ctx, containerID, h.Exec.Command, runtime.ExecIO{})
		if err != nil {
			return err
		}
		if code != 0 {
			return fmt.Errorf("command exited with %d", code)
		}
		return nil
	case h.HTTPGet != nil:
		return r.httpHook(ctx, t)
	case h.Sleep != nil:
		if h.Sleep.Seconds <= 0 {
			return nil
		}
		timer := time.NewTimer(time.Duration(h.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("sleep: %w", ctx.Err())
		}
	}
	return errors.New("a hook needs exec, httpGet or sleep")
}

// hookClient is the client of HTTP hooks: certificates and proxies of the
// environment are not looked at, and a redirect to another host is not followed.
func hookClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
			DisableKeepAlives: true,

			MaxResponseHeaderBytes: hookHeaderLimit,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Hostname() != via[0].URL.Hostname() || len(via) >= 10 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// httpHook makes one request; any answer is a success. A server that answers
// https in plain text gets the request in plain text, without credentials.
func (r *Runtime) httpHook(ctx context.Context, t *hookTarget) error {
	req, err := hookRequest(ctx, t)
	if err != nil {
		return err
	}
	err = r.send(req)
	if err == nil || req.URL.Scheme != "https" || !isPlainAnswer(err) {
		return err
	}
	req.URL.Scheme = "http"
	req.Header.Del("Authorization")
	if err := r.send(req); err != nil {
		return err
	}
	r.event(t.object, v1.EventTypeWarning, "LifecycleHTTPFallback",
		"the server of the hook answers https in plain http; the request was repeated in plain http")
	return nil
}

func (r *Runtime) send(req *http.Request) error {
	resp, err := r.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// isPlainAnswer recognises the error of a TLS handshake with a plain server.
func isPlainAnswer(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

func hookRequest(ctx context.Context, t *hookTarget) (*http.Request, error) {
	get := t.handler.HTTPGet
	host := get.Host
	if host == "" {
		ip, err := t.podIP(ctx)
		if err != nil {
			return nil, err
		}
		host = ip
	}
	port, err := portOf(t.container, get.Port)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(get.Path)
	if err != nil {
		u = &url.URL{Path: get.Path}
	}
	u.Scheme = strings.ToLower(string(get.Scheme))
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	u.Host, u.Fragment = net.JoinHostPort(host, strconv.Itoa(port)), ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	setHeaders(req, get.HTTPHeaders)
	return req, nil
}

// setHeaders sets the headers of the spec, and defaults for those it leaves out.
// One that is there and empty is its author's wish: it is not sent.
func setHeaders(req *http.Request, headers []v1.HTTPHeader) {
	for _, h := range headers {
		req.Header.Add(h.Name, h.Value)
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header.Set("User-Agent", hookAgent)
	}
	if accept, ok := req.Header["Accept"]; !ok {
		req.Header.Set("Accept", "*/*")
	} else if len(accept) == 1 && accept[0] == "" {
		req.Header.Del("Accept")
	}
}

// portOf resolves a port: a number, the name of a port of the container, or a
// number that is written as a string.
func portOf(c *v1.Container, port intstr.IntOrString) (int, error) {
	n := port.IntValue()
	if port.Type == intstr.String {
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				n = int(p.ContainerPort)
			}
		}
	}
	if n < 1 || n > 65535 {
		return 0, fmt.Errorf("no port %q", port.String())
	}
	return n, nil
}

// errNoPodIP keeps a hook from reaching the agent's own host.
var errNoPodIP = errors.New("the pod has no address yet")
