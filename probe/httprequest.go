package probe

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

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
