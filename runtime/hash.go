package runtime

import v1 "k8s.io/api/core/v1"

// ContainerHash is the identity of a container's spec: one that differs from the
// hash that a running instance was made with restarts it. It covers the name and
// the image, and is equal to the kubelet's, so that either can adopt what the
// other started.
func ContainerHash(container *v1.Container) uint64 { return 0 }
