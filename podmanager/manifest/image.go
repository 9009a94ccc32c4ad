package manifest

import (
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// The grammar of image references, as registries and runtimes have it.
var (
	imageTag       = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	imageComponent = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$`)
	imageDomain    = regexp.MustCompile(`^(?:(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])(?:\.(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9]))*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?$`)
	imageDigest    = regexp.MustCompile(`^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`)
	imageID        = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

const (
	latestTag    = "latest"
	maxImageName = 255
	dockerHub    = "docker.io"
)

// pullPolicyOf is the policy of an image that none was given for: what moves
// is pulled always. A reference that can't be read does not move.
func pullPolicyOf(reference string) v1.PullPolicy {
	if tag, ok := tagOf(reference); ok && tag == latestTag {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}

// tagOf is the tag of an image reference: "latest" where neither tag nor digest
// is given, empty where only a digest is.
func tagOf(reference string) (tag string, ok bool) {
	rest, digest, hasDigest := strings.Cut(reference, "@")
	if hasDigest && !imageDigest.MatchString(digest) {
		return "", false
	}
	name := rest
	hasTag := false
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		name, tag, hasTag = rest[:i], rest[i+1:], true
		if !imageTag.MatchString(tag) {
			return "", false
		}
	}
	if !imageNameValid(name) {
		return "", false
	}
	if !hasTag && !hasDigest {
		tag = latestTag
	}
	return tag, true
}

// imageNameValid checks a reference without tag and digest. Its first component
// is a registry when it looks like a host.
func imageNameValid(name string) bool {
	domain, path, found := strings.Cut(name, "/")
	if !found || !(strings.ContainsAny(domain, ".:") || domain == "localhost" || domain != strings.ToLower(domain)) {
		domain, path = dockerHub, name
	}
	if domain == dockerHub && !strings.Contains(path, "/") {
		if imageID.MatchString(path) {
			return false // an ID, not a name
		}
		path = "library/" + path
	}
	if !imageDomain.MatchString(domain) || len(domain)+1+len(path) > maxImageName {
		return false
	}
	for component := range strings.SplitSeq(path, "/") {
		if !imageComponent.MatchString(component) {
			return false
		}
	}
	return true
}
