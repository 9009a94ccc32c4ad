package probe

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a request carries for one host goes to no other, whatever that calls itself
// (CVE-2024-45341: a zone that ends like the name).
func TestSecretsStayInTheirDomain(t *testing.T) {
	for to, want := range map[string]bool{
		"http://example.com/":                 true,
		"http://sub.example.com/":             true,
		"http://badexample.com/":              false,
		"http://example.com.evil/":            false,
		"http://[fe80::1%25.example.com]:80/": false,
	} {
		u, err := url.Parse(to)
		require.NoError(t, err)
		require.Equal(t, want, sameDomain("example.com", u.Hostname()), to)
	}
}
