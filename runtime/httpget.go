package runtime

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// HTTPRequest makes the request of an HTTPGet action, of a probe or a hook: to the
// action's host or else the IP, at a port of the container. User-Agent and Accept have
// defaults that hold where the action does not name them; named and empty means that
// none is sent. A Host header goes where a request has its host.
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

// ResolvePort finds the number of a port: as it is, by the name of a port of the
// container, or written as a number. It must be within 1 to 65535.
func ResolvePort(port intstr.IntOrString, ports []v1.ContainerPort) (int, error) {
	n := port.IntValue()
	if port.Type == intstr.String {
		named, err := lookupPort(port.StrVal, ports)
		if err != nil {
			return 0, err
		}
		n = named
	}
	if n < 1 || n > 65535 {
		return 0, fmt.Errorf("invalid port number: %d", n)
	}
	return n, nil
}

func lookupPort(name string, ports []v1.ContainerPort) (int, error) {
	for i := range ports {
		if ports[i].Name == name {
			return int(ports[i].ContainerPort), nil
		}
	}
	return strconv.Atoi(name)
}
