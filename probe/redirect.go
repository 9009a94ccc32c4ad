package probe

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxRequests bounds how many requests one probe makes.
const maxRequests = 10

var errTooManyRedirects = errors.New("stopped after 10 redirects")

// redirect returns the request that a response asks for; nil when it asks for
// none, or for one to another host, which is not followed.
func (p *HTTP) redirect(first, last *http.Request, res *http.Response, made int) (*http.Request, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := res.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	ref, err := url.Parse(location)
	if err != nil {
		return nil, getError(withoutPassword(last.URL), fmt.Errorf("failed to parse Location header %q: %w", location, err))
	}
	to := last.URL.ResolveReference(ref)
	if !p.FollowAnyHost && to.Hostname() != first.URL.Hostname() {
		return nil, nil
	}
	if made >= maxRequests {
		return nil, getError(location, errTooManyRedirects)
	}
	next := last.Clone(last.Context())
	next.URL, next.Host = to, ""
	if !ref.IsAbs() && last.Host != "" && last.Host != last.URL.Host {
		next.Host = last.Host
	}
	next.Header = first.Header.Clone()
	if !sameDomain(first.URL.Hostname(), to.Hostname()) {
		for _, secret := range []string{"Authorization", "Www-Authenticate", "Cookie", "Cookie2", "Proxy-Authorization", "Proxy-Authenticate"} {
			next.Header.Del(secret)
		}
	}
	if referer := refererOf(last.URL, to, first.Header.Get("Referer")); referer != "" {
		next.Header.Set("Referer", referer)
	}
	return next, nil
}

// refererOf tells where a redirect came from, but not to a plain server where a
// TLS one sent it.
func refererOf(from, to *url.URL, own string) string {
	switch {
	case from.Scheme == "https" && to.Scheme == "http":
		return ""
	case own != "":
		return own
	}
	bare := *from
	bare.User = nil
	return bare.String()
}

// sameDomain tells whether what is meant for one host may go to the other. An IPv6
// zone may end like a name, and is none.
func sameDomain(host, to string) bool {
	return host == to || net.ParseIP(host) == nil && !strings.ContainsAny(to, ":%") && strings.HasSuffix(to, "."+host)
}

// getError is what net/http's client says when a GET fails.
func getError(u string, err error) error { return &url.Error{Op: "Get", URL: u, Err: err} }
