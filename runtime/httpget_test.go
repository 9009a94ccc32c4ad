package runtime_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/runtime"
)

func TestResolvePort(t *testing.T) {
	ports := []v1.ContainerPort{{Name: "web", ContainerPort: 1}, {Name: "web", ContainerPort: 2}, {Name: "none"}}
	for _, c := range []struct {
		port intstr.IntOrString
		want int
	}{
		{intstr.FromInt32(8080), 8080},
		{intstr.FromString("8080"), 8080},
		{intstr.FromString("web"), 1}, // the first of the name
		{intstr.FromString("none"), 0},
		{intstr.FromString("other"), 0},
		{intstr.FromInt32(0), 0},
		{intstr.FromInt32(65536), 0},
	} {
		got, err := runtime.ResolvePort(c.port, ports)
		require.Equal(t, c.want == 0, err != nil, "%v: %v", c.port, err)
		if err == nil {
			require.Equal(t, c.want, got, "%v", c.port)
		}
	}
}

func TestHTTPRequest(t *testing.T) {
	for name, c := range map[string]struct {
		action v1.HTTPGetAction
		url    string
		host   string
		header http.Header
	}{
		"defaults": {
			url: "http://[fd00::1]:80", header: http.Header{"User-Agent": {"agent"}, "Accept": {"*/*"}},
		},
		"all of it": {
			action: v1.HTTPGetAction{Scheme: "HTTPS", Host: "example.com", Path: "/a?b=c", HTTPHeaders: []v1.HTTPHeader{
				{Name: "host", Value: "other"}, {Name: "User-Agent", Value: "me"}, {Name: "X-A", Value: "1"}, {Name: "x-a", Value: "2"},
			}},
			url: "https://example.com:80/a?b=c", host: "other",
			header: http.Header{"Host": {"other"}, "User-Agent": {"me"}, "X-A": {"1", "2"}, "Accept": {"*/*"}},
		},
		"none of the defaults": {
			action: v1.HTTPGetAction{HTTPHeaders: []v1.HTTPHeader{{Name: "Accept"}, {Name: "User-Agent"}}},
			url:    "http://[fd00::1]:80", header: http.Header{"User-Agent": {""}},
		},
		"a path that is no reference": {
			action: v1.HTTPGetAction{Path: "/%zz"},
			url:    "http://[fd00::1]:80/%25zz", header: http.Header{"User-Agent": {"agent"}, "Accept": {"*/*"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.action.Port = intstr.FromInt32(80)
			req, err := runtime.HTTPRequest(t.Context(), &c.action, nil, "fd00::1", "agent")
			require.NoError(t, err)
			require.Equal(t, c.url, req.URL.String())
			require.Equal(t, c.host, req.Host)
			require.Equal(t, c.header, req.Header)
		})
	}
}
