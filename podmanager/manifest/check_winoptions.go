package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxCredentialSpec = 64 << 10
	maxUserDomain     = 256
	maxUserName       = 104
	// forbiddenInUser can't be part of a user's name.
	forbiddenInUser = `"/\:;|=,+*?<>@[]`
)

var (
	netBIOSName  = regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	onlyDotsEtc  = regexp.MustCompile(`^[. ]+$`)
	domainName   = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$`)
	hostProcPath = field.NewPath("spec", "hostNetwork")
)

// windowsOptions checks the options of a pod or container for Windows.
func (c *checker) windowsOptions(path *field.Path, options *v1.WindowsSecurityContextOptions) {
	if options == nil {
		return
	}
	if name := options.GMSACredentialSpecName; name != nil {
		c.invalid(path.Child("gmsaCredentialSpecName"), *name, validation.IsDNS1123Subdomain(*name)...)
	}
	if spec := options.GMSACredentialSpec; spec != nil {
		if *spec == "" {
			c.invalid(path.Child("gmsaCredentialSpec"), "", "gmsaCredentialSpec cannot be an empty string")
		}
		if len(*spec) > maxCredentialSpec {
			c.add(field.TooLong(path.Child("gmsaCredentialSpec"), "", maxCredentialSpec))
		}
	}
	if options.RunAsUserName != nil {
		c.windowsUser(path.Child("runAsUserName"), *options.RunAsUserName)
	}
	if options.HostProcess != nil && *options.HostProcess && !c.spec.HostNetwork {
		c.invalid(hostProcPath, c.spec.HostNetwork, "hostNetwork must be true if pod contains any hostProcess containers")
	}
}

// windowsUser checks DOMAIN\USER, or USER alone.
func (c *checker) windowsUser(path *field.Path, name string) {
	switch {
	case name == "":
		c.invalid(path, name, "runAsUserName cannot be an empty string")
		return
	case strings.ContainsFunc(name, unicode.IsControl):
		c.invalid(path, "", "runAsUserName cannot contain control characters")
		return
	}
	domain, user, qualified := strings.Cut(name, `\`)
	if !qualified {
		domain, user = "", name
	} else if !netBIOSName.MatchString(domain) && !domainName.MatchString(domain) {
		c.invalid(path, name, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
	}
	if len(domain) >= maxUserDomain {
		c.invalid(path, name, fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxUserDomain))
	}
	switch {
	case user == "":
		c.invalid(path, name, "runAsUserName's User cannot be empty")
	case len(user) > maxUserName:
		c.invalid(path, name, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxUserName))
	case onlyDotsEtc.MatchString(user):
		c.invalid(path, name, "runAsUserName's User cannot contain only periods or spaces")
	case strings.ContainsAny(user, forbiddenInUser):
		c.invalid(path, name, "runAsUserName's User cannot contain the following characters: "+forbiddenInUser)
	}
}

// hostProcess requires that all containers of a pod agree to run as processes
// of the host.
func (c *checker) hostProcess(spec *field.Path) {
	pod := hostProcessOf(c.spec.SecurityContext.WindowsOptions)
	asHost, total := 0, 0
	for container := range containers(c.spec) {
		own := pod
		if container.SecurityContext != nil {
			if set := hostProcessOf(container.SecurityContext.WindowsOptions); set != nil {
				own = set
			}
		}
		if pod != nil && own != nil && *own != *pod {
			c.invalid(spec.Child("securityContext", "windowsOptions", "hostProcess"), *pod,
				fmt.Sprintf("pod hostProcess value must be identical to that of container %s", container.Name))
		}
		if total++; own != nil && *own {
			asHost++
		}
	}
	if asHost > 0 && asHost < total {
		c.invalid(spec, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
	}
}

func hostProcessOf(options *v1.WindowsSecurityContextOptions) *bool {
	if options == nil {
		return nil
	}
	return options.HostProcess
}
