package manifest

import (
	"strings"
	"testing"
)

func TestRulesMetadata(t *testing.T) {
	long := strings.Repeat("x", 129)
	testRules(t, []rule{
		{metadata(`labels: {a: b, x.y/z: ""}, annotations: {k: "any thing"}`), nil},
		{metadata(`name: Bad_Name`), refused("metadata.name" + invalid)},
		{metadata(`name: ../../etc`), refused("metadata.name" + invalid)},
		{metadata(`name: a/b`), refused("metadata.name" + invalid)},
		{metadata(`namespace: A`), refused("metadata.namespace" + invalid)},
		{metadata(`namespace: ../x`), refused("metadata.namespace" + invalid)},
		{metadata(`generateName: A_`), refused("metadata.generateName" + invalid)},
		{metadata(`labels: {"a b": c}`), refused("metadata.labels" + invalid)},
		{metadata(`labels: {a: "b c"}`), refused("metadata.labels" + invalid)},
		{metadata(`annotations: {"a b": c}`), refused("metadata.annotations" + invalid)},
		{metadata(`generation: -1`), refused("metadata.generation" + invalid)},
		{metadata(`finalizers: [mine]`), refused("metadata.finalizers[0]" + invalid)},
		{metadata(`finalizers: [a.b/c, foregroundDeletion, kubernetes]`), nil},
		{metadata(`ownerReferences: [{apiVersion: v1, kind: Node, name: m1, uid: u1, controller: true}, {apiVersion: v1, kind: Node, name: m2, uid: u2, controller: true}]`),
			refused("metadata.ownerReferences" + invalid)},

		// A UID names a folder.
		{metadata(`uid: 1234-abcd_E.f`), nil},
		{metadata(`uid: ../../etc`), refused("metadata.uid" + invalid)},
		{metadata(`uid: a/b`), refused("metadata.uid" + invalid)},
		{metadata(`uid: a\b`), refused("metadata.uid" + invalid)},
		{metadata(`uid: ..`), refused("metadata.uid" + invalid)},
		{metadata(`uid: "a\0b"`), refused("metadata.uid" + invalid)},
		{metadata(`uid: ` + long), refused("metadata.uid" + tooLong)},

		{metadata(`annotations: {controller.kubernetes.io/pod-deletion-cost: "-5"}`), nil},
		{metadata(`annotations: {controller.kubernetes.io/pod-deletion-cost: "+5"}`), refused("metadata.annotations[controller.kubernetes.io/pod-deletion-cost]" + invalid)},
		// It would pass for the mirror of another pod, and be silently left alone.
		{metadata(`annotations: {kubernetes.io/config.mirror: ""}`), refused("metadata.annotations[kubernetes.io/config.mirror]" + forbidden)},
		{metadata(`annotations: {seccomp.security.alpha.kubernetes.io/pod: localhost/a/b}`), nil},
		{metadata(`annotations: {seccomp.security.alpha.kubernetes.io/pod: localhost/../b}`), refused("metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]" + invalid)},
		{metadata(`annotations: {container.seccomp.security.alpha.kubernetes.io/c: nonsense}`), refused("metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]" + invalid)},
		{metadata(`annotations: {container.apparmor.security.beta.kubernetes.io/c: runtime/default}`), nil},
		{metadata(`annotations: {container.apparmor.security.beta.kubernetes.io/d: unconfined}`), refused("metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]" + invalid)},
		{metadata(`annotations: {container.apparmor.security.beta.kubernetes.io/c: nonsense}`), refused("metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]" + invalid)},
		{strings.Replace(metadata(`annotations: {container.apparmor.security.beta.kubernetes.io/c: unconfined}`),
			"image: i", "image: i, securityContext: {appArmorProfile: {type: RuntimeDefault}}", 1),
			refused("metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]" + forbidden)},
		{strings.Replace(metadata(`annotations: {container.apparmor.security.beta.kubernetes.io/c: localhost/p}`),
			"image: i", "image: i, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}", 1), nil},
		{strings.Replace(metadata(`annotations: {container.apparmor.security.beta.kubernetes.io/c: unconfined}`),
			"image: i", "image: i, securityContext: {appArmorProfile: {type: Unconfined}}", 1), nil},
	})
}
