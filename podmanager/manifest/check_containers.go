package manifest

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxContainers is how many containers a pod may have. Some of what is done for a
// pod, on the loop among other things, takes the square of it; twenty thousand, of
// which a manifest has room, had held up all pods for half a minute.
const maxContainers = 1000

// containerLists checks init containers and containers; their names are unique
// among both.
func (c *checker) containerLists(spec *field.Path) {
	if n := len(c.spec.InitContainers) + len(c.spec.Containers); n > maxContainers {
		c.add(field.TooMany(spec.Child("containers"), n, maxContainers))
		return
	}
	names := map[string]bool{}
	path := spec.Child("initContainers")
	for i := 0; i < len(c.spec.InitContainers) && !c.more; i++ {
		container := &c.spec.InitContainers[i]
		c.container(path.Index(i), container, names)
		c.initContainer(path.Index(i), container)
		// Init containers run one after the other, so only their own ports can
		// be in conflict.
		c.hostPorts(path.Index(i), container, map[string]bool{})
	}
	path = spec.Child("containers")
	if len(c.spec.Containers) == 0 {
		c.required(path, "")
	}
	ports := map[string]bool{}
	for i := 0; i < len(c.spec.Containers) && !c.more; i++ {
		container := &c.spec.Containers[i]
		c.container(path.Index(i), container, names)
		c.probes(path.Index(i), container)
		c.resizePolicy(path.Index(i).Child("resizePolicy"), container.ResizePolicy)
		c.hostPorts(path.Index(i), container, ports)
	}
	if len(c.spec.EphemeralContainers) > 0 {
		c.forbidden(spec.Child("ephemeralContainers"), "cannot be set on create")
	}
}

// container holds the rules that all containers share.
func (c *checker) container(path *field.Path, container *v1.Container, names map[string]bool) {
	c.name(path.Child("name"), container.Name, validation.IsDNS1123Label)
	if container.Name != "" {
		c.unique(names, path.Child("name"), container.Name)
	}
	if c.present(path.Child("image"), container.Image) && strings.TrimSpace(container.Image) != container.Image {
		c.invalid(path.Child("image"), container.Image, "must not have leading or trailing whitespace")
	}
	oneOf(c, path.Child("imagePullPolicy"), container.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	oneOf(c, path.Child("terminationMessagePolicy"), container.TerminationMessagePolicy,
		v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError)
	c.ports(path.Child("ports"), container.Ports)
	c.env(path.Child("env"), container.Env)
	c.envFrom(path.Child("envFrom"), container.EnvFrom)
	c.mounts(path, container)
	c.devices(path, container)
	c.containerResources(path.Child("resources"), &container.Resources)
	c.restart(path, container)
	c.containerSecurity(path.Child("securityContext"), container.SecurityContext)
}

// initContainer holds the rules of init containers: one that runs to its end
// has no probes and hooks, a sidecar has them like any container.
func (c *checker) initContainer(path *field.Path, container *v1.Container) {
	c.resizePolicy(path.Child("resizePolicy"), container.ResizePolicy)
	if isSidecar(container) {
		c.probes(path, container)
		return
	}
	const detail = "may not be set for init containers without restartPolicy=Always"
	if container.Lifecycle != nil {
		c.forbidden(path.Child("lifecycle"), detail)
	}
	if container.LivenessProbe != nil {
		c.forbidden(path.Child("livenessProbe"), detail)
	}
	if container.ReadinessProbe != nil {
		c.forbidden(path.Child("readinessProbe"), detail)
	}
	if container.StartupProbe != nil {
		c.forbidden(path.Child("startupProbe"), detail)
	}
}

func isSidecar(container *v1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// resizePolicy checks what is to happen when a resource changes in place.
func (c *checker) resizePolicy(path *field.Path, policies []v1.ContainerResizePolicy) {
	seen := map[string]bool{}
	for i, policy := range policies {
		path := path.Index(i)
		oneOf(c, path.Child("resourceName"), policy.ResourceName, v1.ResourceCPU, v1.ResourceMemory)
		c.unique(seen, path.Child("resourceName"), string(policy.ResourceName))
		oneOf(c, path.Child("restartPolicy"), policy.RestartPolicy, v1.NotRequired, v1.RestartContainer)
		if policy.RestartPolicy == v1.RestartContainer && c.spec.RestartPolicy == v1.RestartPolicyNever {
			c.invalid(path.Child("restartPolicy"), policy.RestartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'")
		}
	}
}
