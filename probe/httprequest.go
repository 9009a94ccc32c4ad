package probe

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// checkRequest refuses what must not go over the wire, in the words of net/http.
func checkRequest(req *http.Request) error {
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return fmt.Errorf("unsupported protocol scheme %q", req.URL.Scheme)
	}
	for name, values := range req.Header {
		if !isToken(name) {
			return fmt.Errorf("net/http: invalid header field name %q", name)
		}
		for _, value := range values {
			// The value may be a secret.
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("net/http: invalid header field value for %q", name)
			}
		}
	}
	if req.URL.Host == "" {
		return errors.New("http: no Host in request URL")
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

// withoutPassword is a URL as net/http's client has it in its errors.
func withoutPassword(u *url.URL) string {
	if _, secret := u.User.Password(); !secret {
		return u.String()
	}
	return strings.Replace(u.String(), u.User.String()+"@", u.User.Username()+":***@", 1)
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
