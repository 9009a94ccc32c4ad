package manifest

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What a resolver's configuration may hold.
const (
	maxNameservers   = 3
	maxSearches      = 32
	maxSearchesChars = 2048
	maxHostName      = 64
)

func (c *checker) dns(spec *field.Path) {
	oneOf(c, spec.Child("dnsPolicy"), c.spec.DNSPolicy, v1.DNSClusterFirstWithHostNet, v1.DNSClusterFirst, v1.DNSDefault, v1.DNSNone)
	config, path := c.spec.DNSConfig, spec.Child("dnsConfig")
	if c.spec.DNSPolicy == v1.DNSNone {
		if config == nil {
			c.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
		} else if len(config.Nameservers) == 0 {
			c.required(path.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None")
		}
	}
	if config == nil {
		return
	}
	if n := len(config.Nameservers); n > maxNameservers {
		c.invalid(path.Child("nameservers"), config.Nameservers, fmt.Sprintf("must not have more than %d nameservers", maxNameservers))
	}
	for i, server := range config.Nameservers {
		c.ip(path.Child("nameservers").Index(i), server)
	}
	if n := len(config.Searches); n > maxSearches {
		c.invalid(path.Child("searches"), n, fmt.Sprintf("must not have more than %d search paths", maxSearches))
	}
	if len(strings.Join(config.Searches, " ")) > maxSearchesChars {
		c.invalid(path.Child("searches"), "", fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", maxSearchesChars))
	}
	for i, search := range config.Searches {
		if search != "." {
			c.invalid(path.Child("searches").Index(i), search, validation.IsDNS1123SubdomainWithUnderscore(strings.TrimSuffix(search, "."))...)
		}
	}
	for i, option := range config.Options {
		c.present(path.Child("options").Index(i).Child("name"), option.Name)
	}
}

// hostNames checks what the pod is called, and what it calls others.
func (c *checker) hostNames(spec *field.Path) {
	c.optionalName(spec.Child("hostname"), c.spec.Hostname, validation.IsDNS1123Label)
	c.optionalName(spec.Child("subdomain"), c.spec.Subdomain, validation.IsDNS1123Label)
	if override := c.spec.HostnameOverride; override != nil {
		path := spec.Child("hostnameOverride")
		c.invalid(path, *override, validation.IsDNS1123Subdomain(*override)...)
		if len(*override) > maxHostName {
			c.add(field.TooLong(path, *override, maxHostName))
		}
		if c.spec.HostNetwork {
			c.forbidden(path, "may not be set when hostNetwork is true")
		}
		if c.spec.SetHostnameAsFQDN != nil && *c.spec.SetHostnameAsFQDN {
			c.forbidden(path, "may not be set when setHostnameAsFQDN is true")
		}
	}
	for i, alias := range c.spec.HostAliases {
		path := spec.Child("hostAliases").Index(i)
		c.ip(path.Child("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			c.invalid(path.Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name)...)
		}
	}
}

func (c *checker) ip(path *field.Path, ip string) {
	c.add(validation.IsValidIPForLegacyField(path, ip, true, nil)...)
}
