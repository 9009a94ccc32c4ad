package podruntime

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

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
	return errors.New(short(err.Error(), hookErrorLimit))
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
	get, ip := t.handler.HTTPGet, ""
	if get.Host == "" {
		var err error
		if ip, err = t.podIP(ctx); err != nil {
			return nil, err
		}
	}
	return runtime.HTTPRequest(ctx, get, t.container.Ports, ip, hookAgent)
}

// errNoPodIP keeps a hook from reaching the agent's own host.
var errNoPodIP = errors.New("the pod has no address yet")
