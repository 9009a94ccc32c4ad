package runtime

import (
	"fmt"
	"regexp"
	"strings"
)

// Parts of an image reference: [domain/]path[:tag][@digest]. The path is lower
// case; what stands before the first slash is a domain if it could not be the
// beginning of a path, or is "localhost".
var (
	imageDomain = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$`)
	imagePath   = regexp.MustCompile(`^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$`)
	imageTag    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	imageDigest = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[+._-][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$`)
)

const maxImageName = 255

// ImageName returns the name to inspect and pull: the image as it stands, with
// ":latest" appended if it has neither tag nor digest. The error is about a name
// that is no image reference.
func ImageName(image string) (string, error) {
	name, digest, hasDigest := strings.Cut(image, "@")
	path, tag, hasTag := cutTag(name)
	domain, rest := cutDomain(path)
	switch {
	case hasDigest && !imageDigest.MatchString(digest),
		hasTag && !imageTag.MatchString(tag),
		domain != "" && !imageDomain.MatchString(domain),
		!imagePath.MatchString(rest), len(path) > maxImageName:
		return "", fmt.Errorf("couldn't parse image name %q: invalid reference format", image)
	case hasTag, hasDigest:
		return image, nil
	}
	return image + ":latest", nil
}

// cutTag cuts what follows the last colon, unless that is the port of a domain.
func cutTag(name string) (path, tag string, found bool) {
	colon := strings.LastIndexByte(name, ':')
	if colon < 0 || strings.IndexByte(name[colon:], '/') >= 0 {
		return name, "", false
	}
	return name[:colon], name[colon+1:], true
}

func cutDomain(path string) (domain, rest string) {
	first, rest, found := strings.Cut(path, "/")
	if found && (first == "localhost" || strings.ContainsAny(first, ".:[") || strings.ToLower(first) != first) {
		return first, rest
	}
	return "", path
}
