package runtime

import (
	"encoding/json"
	"hash/fnv"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// ContainerHash is the identity of a container's spec: one that differs from the
// hash that a running instance was made with restarts it. It covers the name and
// the image, and is equal to the kubelet's, so that either can adopt what the
// other started.
func ContainerHash(container *v1.Container) uint64 {
	// The kubelet hashes a debugger's print of the JSON's bytes, in decimal.
	// Fields in alphabetical order; two strings always have a JSON form.
	spec, _ := json.Marshal(struct {
		Image string `json:"image"`
		Name  string `json:"name"`
	}{container.Image, container.Name})

	h := fnv.New32a()
	h.Write([]byte("([]uint8)["))
	var digits [4]byte
	for i, b := range spec {
		if i > 0 {
			h.Write([]byte(" "))
		}
		h.Write(strconv.AppendUint(digits[:0], uint64(b), 10))
	}
	h.Write([]byte("]"))
	return uint64(h.Sum32())
}

// hashChanged tells whether the instance was made from another spec.
func hashChanged(container *v1.Container, instance *ContainerStatus) bool {
	return instance.Hash != 0 && instance.Hash != ContainerHash(container)
}
