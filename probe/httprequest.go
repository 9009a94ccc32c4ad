package probe

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// HTTPRequest makes the request of an HTTPGet action: to the action's host or
// else the IP, at a port of the container. User-Agent and Accept have defaults
// that hold where the action does not name them; named and empty means that none
// is sent. A Host header goes where a request has its host.
func HTTPRequest(ctx context.Context, action *v1.HTTPGetAction, ports []v1.ContainerPort, ip, userAgent string) (*http.Request, error) {
	port, err := ResolvePort(action.Port, ports)
	if err != nil {
		return nil, err
	}
	target := httpURL(strings.ToLower(cmp.Or(string(action.Scheme), "http")), cmp.Or(action.Host, ip), port, action.Path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	req.Header = httpHeader(action.HTTPHeaders, userAgent)
	req.Host = req.Header.Get("Host")
	req.Close = true
	return req, nil
}

// httpURL reads the path as a reference, so that it may have a query, and takes
// it as it is if it is none.
func httpURL(scheme, host string, port int, path string) string {
	u, err := url.Parse(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Scheme = scheme
	u.Host = net.JoinHostPort(host, strconv.Itoa(port))
	return u.String()
}

func httpHeader(list []v1.HTTPHeader, userAgent string) http.Header {
	header := make(http.Header, len(list)+2)
	for _, h := range list {
		header.Add(h.Name, h.Value)
	}
	if _, named := header["User-Agent"]; !named {
		header["User-Agent"] = []string{userAgent}
	}
	if accept, named := header["Accept"]; !named {
		header["Accept"] = []string{"*/*"}
	} else if accept[0] == "" {
		delete(header, "Accept")
	}
	return header
}

// checkRequest refuses what must not go over the wire.
func checkRequest(req *http.Request) error {
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return fmt.Errorf("unsupported protocol scheme %q", req.URL.Scheme)
	}
	if req.URL.Host == "" {
		return fmt.Errorf("no host in request URL")
	}
	for name, values := range req.Header {
		if !isToken(name) {
			return fmt.Errorf("invalid header field name %q", name)
		}
		for _, value := range values {
			// The value may be a secret.
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("invalid header field value for %q", name)
			}
		}
	}
	return nil
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// authorize sends what the URL says of a user.
func authorize(req *http.Request) {
	if req.URL.User == nil || req.Header.Get("Authorization") != "" {
		return
	}
	password, _ := req.URL.User.Password()
	credentials := req.URL.User.Username() + ":" + password
	req.Header = req.Header.Clone()
	req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credentials)))
}
