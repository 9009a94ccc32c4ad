package syncloop

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// restartedMore tells whether a container was restarted more often by the one
// status than by the other.
func restartedMore(a, b *v1.PodStatus) bool {
	more := func(a, b []v1.ContainerStatus) bool {
		return slices.ContainsFunc(a, func(c v1.ContainerStatus) bool {
			other := named(b, c.Name)
			return other != nil && c.RestartCount > other.RestartCount
		})
	}
	return more(a.InitContainerStatuses, b.InitContainerStatuses) || more(a.ContainerStatuses, b.ContainerStatuses)
}

// raiseRestarts raises the counts in a list to those of another.
func raiseRestarts(list, to []v1.ContainerStatus) {
	for i := range list {
		if other := named(to, list[i].Name); other != nil {
			list[i].RestartCount = max(list[i].RestartCount, other.RestartCount)
		}
	}
}

func named(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	i := slices.IndexFunc(list, func(c v1.ContainerStatus) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}
