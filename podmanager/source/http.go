package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

const (
	// requestTimeout bounds one request, its redirects and its body, as in the
	// kubelet.
	requestTimeout = 10 * time.Second
	maxRedirects   = 5
	// firstRetry is how soon a request that failed is made again; the wait
	// doubles up to the period.
	firstRetry = time.Second
	// headerLimit is how many bytes of header are read; net/http takes 10 MiB,
	// and puts a line of them that it does not understand into its error.
	headerLimit = 64 << 10
	// errorLimit is how many bytes of such an error are kept.
	errorLimit = 1 << 10
)

// HTTP is the source of static pods at a URL: one Pod or a PodList, as YAML or
// JSON. A bad item of a list is refused alone. A server that fails is asked
// again after a second, then at growing intervals up to Period.
//
// Neither headers nor the user and query of the URL get into errors, logs or
// the identity of pods, for they may hold secrets.
type HTTP struct {
	// URL of the manifest; required.
	URL string
	// Header is sent with each request to the URL's own host. Not written to.
	Header http.Header
	// Decoder turns the manifest into pods; its NodeName is required.
	Decoder manifest.Decoder
	// Period between two requests; default DefaultPeriod.
	Period time.Duration
	// MissingMeansEmpty takes an empty body for a list without pods, as the
	// kubelet does. Without it, what the server said last stays.
	MissingMeansEmpty bool
	// Client makes the requests; nil is one with a timeout of 10 seconds for
	// everything and at most 5 redirects. One of your own should bound both.
	Client *http.Client
}

// Run implements [podmanager.PodSource].
func (h *HTTP) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	fetcher, err := newFetcher(h)
	if err != nil {
		return err
	}
	period := periodOf(h.Period)
	retry := min(firstRetry, period)
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		report, answered := fetcher.fetch(ctx)
		if ctx.Err() != nil {
			return nil
		}
		deliver(report)
		if answered {
			retry = min(firstRetry, period)
			timer.Reset(period)
		} else {
			timer.Reset(retry)
			retry = min(2*retry, period)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
	}
}

// Every implements [podmanager.Regular].
func (h *HTTP) Every() time.Duration { return periodOf(h.Period) + requestTimeout }

// fetcher asks the server and remembers its last answer.
type fetcher struct {
	HTTP
	url    *url.URL
	origin string // the URL without user and query

	decoded   bool              // some body was
	sum       [sha256.Size]byte // of the last body that was decoded
	validator http.Header       // makes the next request conditional
	err       error             // what was wrong with the last body
	pods      []*v1.Pod         // the last good pods
}

func newFetcher(h *HTTP) (*fetcher, error) {
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil, errors.New("http source: the URL can't be parsed") // the error would quote it
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("http source: %s is no http or https URL", originOf(u))
	}
	f := &fetcher{HTTP: *h, url: u, origin: originOf(u)}
	f.Decoder.Source = podmanager.SourceHTTP
	if f.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		// What a server sends after its answer, net/http would write to the
		// process's log, with whatever secrets it holds.
		transport.DisableKeepAlives = true
		transport.MaxResponseHeaderBytes = headerLimit
		f.Client = &http.Client{Timeout: requestTimeout, Transport: transport, CheckRedirect: f.redirect}
	}
	return f, nil
}

// originOf names the URL in errors and in the identity of pods.
func originOf(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}

// redirect bounds redirects, and keeps headers and the URL from other hosts.
func (f *fetcher) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if req.URL.Host != f.url.Host || req.URL.Scheme != f.url.Scheme {
		for name := range f.Header {
			req.Header.Del(name)
		}
		req.Header.Del("Referer")
	}
	return nil
}

// fetch asks once; answered tells whether the server gave something to go by.
func (f *fetcher) fetch(ctx context.Context) (report podmanager.Report, answered bool) {
	body, validator, err := f.get(ctx)
	switch {
	case err != nil:
		return podmanager.Report{Err: fmt.Errorf("%s: %w", f.origin, err)}, false
	case body == nil: // not modified
		return podmanager.Report{Err: f.err}, true
	case len(bytes.TrimSpace(body)) == 0:
		return f.empty(), f.MissingMeansEmpty
	}
	sum := sha256.Sum256(body)
	if f.decoded && sum == f.sum {
		f.validator = validator
		return podmanager.Report{Err: f.err}, true
	}
	return f.take(body, sum, validator), true
}

// get returns the body, nil for one that did not change.
func (f *fetcher) get(ctx context.Context) (body []byte, validator http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url.String(), nil)
	if err != nil {
		return nil, nil, errors.New("no request can be made of the URL")
	}
	for name, values := range f.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	for name, values := range f.validator {
		req.Header[name] = values
	}
	resp, err := f.Client.Do(req)
	if err != nil {
		return nil, nil, withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && f.validator != nil {
		return nil, nil, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, &StatusError{resp.StatusCode}
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, manifest.MaxBytes))
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", withoutURL(err))
	}
	if len(body) >= manifest.MaxBytes {
		return nil, nil, errTooLarge
	}
	return body, validatorOf(resp.Header), nil
}

// validatorOf picks what makes the next request conditional, nil for nothing.
func validatorOf(answer http.Header) http.Header {
	var v http.Header
	for from, to := range map[string]string{"Etag": "If-None-Match", "Last-Modified": "If-Modified-Since"} {
		if value := answer.Get(from); value != "" {
			if v == nil {
				v = make(http.Header)
			}
			v.Set(to, value)
		}
	}
	return v
}

// withoutURL takes the URL out of an error of net/http, and bounds what it quotes
// of the server's answer.
func withoutURL(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if text := err.Error(); len(text) > errorLimit {
		return errors.New(strings.ToValidUTF8(text[:errorLimit], "") + "...")
	}
	return err
}

func (f *fetcher) empty() podmanager.Report {
	report := podmanager.Report{Err: fmt.Errorf("%s: %w", f.origin, ErrEmptyBody)}
	f.validator = nil
	if f.MissingMeansEmpty {
		report.Op = podmanager.OpSet
		f.decoded, f.pods = false, nil
	}
	return report
}

// take decodes a new body. Pods that it refuses stay as they were; a body in
// which nothing is good is no answer.
func (f *fetcher) take(body []byte, sum [sha256.Size]byte, validator http.Header) podmanager.Report {
	result := f.Decoder.Decode(body, f.origin)
	pods := result.Pods
	var errs []error
	for _, bad := range result.Errors {
		if result.List {
			old := f.lastGood(bad.Pod)
			bad.Kept = old != nil
			if old != nil {
				pods = append(pods, old)
			}
		} else {
			bad.Kept = len(f.pods) > 0
		}
		errs = append(errs, bad)
	}
	f.decoded, f.sum, f.validator, f.err = true, sum, validator, errors.Join(errs...)
	report := podmanager.Report{Err: f.err, Warnings: result.Warnings}
	if len(errs) > 0 && len(result.Pods) == 0 {
		return report
	}
	f.pods = pods
	report.Op, report.Pods = podmanager.OpSet, slices.Clone(pods)
	return report
}

// lastGood finds the pod that a refused item, by namespace/name, was before. An
// item may have been refused before its name got the node's name behind it.
func (f *fetcher) lastGood(name string) *v1.Pod {
	for _, pod := range f.pods {
		full := pod.Namespace + "/" + pod.Name
		if name != "" && (full == name || full == name+"-"+strings.ToLower(f.Decoder.NodeName)) {
			return pod
		}
	}
	return nil
}
