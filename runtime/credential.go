package runtime

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Credential is what a registry is asked with. It prints as its registry alone.
type Credential struct {
	// Registry is the key that the secret has it under: a host, which may have a
	// port, a path and wildcards.
	Registry           string
	Username, Password string
}

// String leaves the user and the password out.
func (c Credential) String() string { return "credential of " + c.Registry }

// Format prints String, whatever the verb.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String, for JSON and logs.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Credentials are those of the pull secrets that are meant for the image, in the
// order to try them, the longer of two keys first: by host, label by label, where
// * stands for any part of a label, by port, and by the beginning of the path. An
// image without a domain is index.docker.io's.
//
// A secret that can't be read contributes nothing and is named in the error,
// which never repeats what is in it. Secrets of other types hold none.
func Credentials(image string, secrets []*v1.Secret) ([]Credential, error) {
	domain, rest := cutDomain(image)
	if domain == "" || domain == "docker.io" {
		domain = "index.docker.io"
	}
	var found []Credential
	var errs []error
	for _, secret := range secrets {
		all, err := credentialsOf(secret)
		if err != nil {
			errs = append(errs, fmt.Errorf("pull secret %s/%s: %w", secret.Namespace, secret.Name, err))
		}
		for _, key := range slices.Backward(slices.Sorted(maps.Keys(all))) {
			if registryMatches(key, domain, rest) {
				found = append(found, all[key])
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Credential) int { return len(b.Registry) - len(a.Registry) })
	return found, errors.Join(errs...)
}

// login is one entry of a docker configuration.
type login struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Auth     string `json:"auth"`
}

// credentialsOf reads a secret of one of the two types that hold credentials, by
// registry.
func credentialsOf(secret *v1.Secret) (map[string]Credential, error) {
	logins := map[string]login{}
	var err error
	switch secret.Type {
	case v1.SecretTypeDockerConfigJson:
		var file struct {
			Auths map[string]login `json:"auths"`
		}
		err = json.Unmarshal(secret.Data[v1.DockerConfigJsonKey], &file)
		logins = file.Auths
	case v1.SecretTypeDockercfg:
		err = json.Unmarshal(secret.Data[v1.DockerConfigKey], &logins)
	}
	if err != nil {
		return nil, errors.New("it is no docker configuration")
	}
	all := make(map[string]Credential, len(logins))
	var errs []error
	for registry, l := range logins {
		c := Credential{Registry: registryKey(registry), Username: l.Username, Password: l.Password}
		if l.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(l.Auth)
			user, password, ok := strings.Cut(string(plain), ":")
			if err != nil || !ok {
				errs = append(errs, errors.New("an auth in it is not user:password in base64"))
				continue
			}
			c.Username, c.Password = user, password
		}
		all[c.Registry] = c
	}
	return all, errors.Join(errs...)
}

// registryKey is host and path of a registry, without the scheme and the API's
// version that docker writes before and behind it.
func registryKey(registry string) string {
	if !strings.Contains(registry, "://") {
		registry = "https://" + registry
	}
	u, err := url.Parse(registry)
	if err != nil {
		return "" // which is no image's
	}
	p := u.Path
	if strings.HasPrefix(p, "/v1/") || strings.HasPrefix(p, "/v2/") {
		p = p[len("/v1"):]
	}
	return u.Host + strings.TrimSuffix(p, "/")
}

func registryMatches(key, domain, rest string) bool {
	host, prefix, _ := strings.Cut(key, "/")
	host, port, _ := strings.Cut(host, ":")
	domain, domainPort, _ := strings.Cut(domain, ":")
	labels, domainLabels := strings.Split(host, "."), strings.Split(domain, ".")
	if port != domainPort || len(labels) != len(domainLabels) || !strings.HasPrefix(rest, prefix) {
		return false
	}
	for i, label := range labels {
		if ok, err := path.Match(label, domainLabels[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
