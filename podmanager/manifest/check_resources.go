package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// requestsPrefix is the word that quotas put before a resource's name.
const requestsPrefix = "requests."

func (c *checker) containerResources(path *field.Path, r *v1.ResourceRequirements) {
	c.requirements(path, r, c.containerResourceName)
	c.claimReferences(path.Child("claims"), r.Claims)
}

// requirements holds the rules that resources of containers and of whole pods
// share.
func (c *checker) requirements(path *field.Path, r *v1.ResourceRequirements, name func(*field.Path, v1.ResourceName)) {
	limits, requests := path.Child("limits"), path.Child("requests")
	c.quantities(limits, r.Limits, name)
	c.quantities(requests, r.Requests, name)
	for _, resource := range sortedNames(r.Requests) {
		request := r.Requests[resource]
		limit, limited := r.Limits[resource]
		switch {
		case !limited && !overcommits(resource):
			c.required(limits, "Limit must be set for non overcommit resources")
		case !limited:
		case !overcommits(resource) && request.Cmp(limit) != 0:
			c.invalid(requests, request.String(), fmt.Sprintf("must be equal to %s limit of %s", resource, limit.String()))
		case request.Cmp(limit) > 0:
			c.invalid(requests, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", resource, limit.String()))
		}
	}
	if hasHugePage(r.Limits, r.Requests) && !hasCPUOrMemory(r.Limits, r.Requests) {
		c.forbidden(path, "HugePages require cpu or memory")
	}
}

func (c *checker) quantities(path *field.Path, list v1.ResourceList, name func(*field.Path, v1.ResourceName)) {
	for _, resource := range sortedNames(list) {
		path, quantity := path.Key(string(resource)), list[resource]
		name(path, resource)
		c.quantity(path, resource, quantity)
		if isHugePage(resource) && !wholePages(resource, quantity) {
			c.invalid(path, quantity.String(), "Value must be integral number of page size")
		}
	}
}

// quantity checks an amount: of things that are counted, whole ones.
func (c *checker) quantity(path *field.Path, name v1.ResourceName, quantity resource.Quantity) {
	if quantity.Sign() < 0 {
		c.invalid(path, quantity.String(), "must be greater than or equal to 0")
	}
	if isExtended(name) && quantity.MilliValue()%1000 != 0 {
		c.invalid(path, quantity.String(), "must be an integer")
	}
}

func (c *checker) containerResourceName(path *field.Path, name v1.ResourceName) {
	c.invalid(path, string(name), validation.IsQualifiedName(string(name))...)
	switch {
	case !strings.Contains(string(name), "/"):
		if name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage && !isHugePage(name) {
			c.invalid(path, string(name), "must be a standard resource for containers")
		}
	case !isNative(name) && !isExtended(name):
		c.invalid(path, string(name), "doesn't follow extended resource name standard")
	}
}

// claimReferences checks which of the pod's claims a container uses.
func (c *checker) claimReferences(path *field.Path, claims []v1.ResourceClaim) {
	seen := map[v1.ResourceClaim]bool{}
	for i, claim := range claims {
		path := path.Index(i)
		if !c.present(path.Child("name"), claim.Name) {
			continue
		}
		if !c.claims[claim.Name] {
			c.add(field.NotFound(path.Child("name"), claim.Name))
		}
		c.optionalName(path.Child("request"), claim.Request, validation.IsDNS1123Label)
		if seen[claim] || claim.Request != "" && seen[v1.ResourceClaim{Name: claim.Name}] {
			c.duplicate(path, claim.Name)
		}
		seen[claim] = true
	}
}

// resourceClaims checks the pod's own list of claims.
func (c *checker) resourceClaims(path *field.Path) {
	c.claims = map[string]bool{}
	for i, claim := range c.spec.ResourceClaims {
		path := path.Index(i)
		c.name(path.Child("name"), claim.Name, validation.IsDNS1123Label)
		c.unique(c.claims, path.Child("name"), claim.Name)
		byName, byTemplate := claim.ResourceClaimName, claim.ResourceClaimTemplateName
		c.exactlyOne(path, "`resourceClaimName` or `resourceClaimTemplateName`", countSet(byName != nil, byTemplate != nil))
		if byName != nil {
			c.invalid(path.Child("resourceClaimName"), *byName, validation.IsDNS1123Subdomain(*byName)...)
		}
		if byTemplate != nil {
			c.invalid(path.Child("resourceClaimTemplateName"), *byTemplate, validation.IsDNS1123Subdomain(*byTemplate)...)
		}
	}
}

// isNative tells a resource that Kubernetes itself defines.
func isNative(name v1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
}

// isExtended tells a resource that somebody else defines, such as a device. It
// is counted in whole numbers and never overcommitted.
func isExtended(name v1.ResourceName) bool {
	return !isNative(name) && !strings.HasPrefix(string(name), v1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(requestsPrefix+string(name))) == 0
}

func isHugePage(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// overcommits tells whether more may be promised than there is.
func overcommits(name v1.ResourceName) bool { return isNative(name) && !isHugePage(name) }

// wholePages tells whether the amount is made of whole pages of the size that
// the resource names.
func wholePages(name v1.ResourceName, quantity resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), v1.ResourceHugePagesPrefix))
	return err == nil && size.Value() > 0 && quantity.Value()%size.Value() == 0
}

func hasHugePage(lists ...v1.ResourceList) bool {
	for _, list := range lists {
		for name := range list {
			if isHugePage(name) {
				return true
			}
		}
	}
	return false
}

func hasCPUOrMemory(lists ...v1.ResourceList) bool {
	for _, list := range lists {
		if _, ok := list[v1.ResourceCPU]; ok {
			return true
		}
		if _, ok := list[v1.ResourceMemory]; ok {
			return true
		}
	}
	return false
}

func sortedNames(list v1.ResourceList) []v1.ResourceName { return slices.Sorted(maps.Keys(list)) }
