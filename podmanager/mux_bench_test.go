package podmanager_test

import (
	"encoding/json"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/internal/steady"
	"github.com/kubeparts/kubeparts/podmanager"
)

const variants = 100 // of the object that changes, so that caches don't decide

// big is pod i with two containers, as a kubelet's benchmark has it.
func big(i, variant int, changes ...func(*v1.Pod)) *v1.Pod {
	p := pod(fmt.Sprintf("pod-%d uid-%d", i, i), version(fmt.Sprintf("%d", i)))
	p.Labels = map[string]string{"app": "web", "variant": fmt.Sprint(variant)}
	limits := v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("64Mi")}
	p.Spec.Containers = nil
	for _, name := range []string{"main", "sidecar"} {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{
			Name: name, Image: "registry.example/" + name + ":1",
			Env:       []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
			Ports:     []v1.ContainerPort{{ContainerPort: 8080}},
			Resources: v1.ResourceRequirements{Limits: limits, Requests: limits},
		})
	}
	if variant > 0 {
		p.ResourceVersion = fmt.Sprintf("%d.%d", i, variant)
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// BenchmarkMuxDelta is one changed pod, by itself.
func BenchmarkMuxDelta(b *testing.B) {
	for _, n := range []int{110, 1000, 10000, 100000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			m := podmanager.NewMux("api")
			list := make([]*v1.Pod, n)
			for i := range list {
				list[i] = big(i, 0)
			}
			merged(b, m, podmanager.OpSet, list)
			var changed [variants][]*v1.Pod
			for i := range changed {
				changed[i] = pods(big(7, i+1))
			}
			i := 0
			delta := func() {
				merged(b, m, podmanager.OpUpdate, changed[i%variants])
				i++
			}
			steady.Reach(delta)
			b.ReportAllocs()
			for b.Loop() {
				delta()
			}
		})
	}
}

// BenchmarkMuxSet is a list of 1,000 pods, decoded afresh, of which one has
// changed. "versioned" has resourceVersions, as the API's pods do; "hashed"
// content hashes, as static pods do; "bare" neither, so that all is compared.
func BenchmarkMuxSet(b *testing.B) {
	const n = 1000
	bare := func(p *v1.Pod) { p.ResourceVersion = "" }
	hashed := func(p *v1.Pod) {
		annotation(podmanager.AnnotationHash, string(p.UID)+p.Labels["variant"])(p)
		p.ResourceVersion = ""
	}
	for _, kind := range []struct {
		name   string
		source string
		change func(*v1.Pod)
	}{
		{"versioned", "api", func(*v1.Pod) {}},
		{"hashed", "file", hashed},
		{"bare", "api", bare},
	} {
		b.Run(fmt.Sprintf("%s/pods=%d", kind.name, n), func(b *testing.B) {
			m := podmanager.NewMux("api", "file")
			lists := make([][]byte, variants)
			for v := range lists {
				list := make([]*v1.Pod, n)
				for i := range list {
					list[i] = big(i, 0, kind.change)
				}
				list[7] = big(7, v+1, kind.change)
				lists[v], _ = json.Marshal(list)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				var list []*v1.Pod
				if err := json.Unmarshal(lists[i%variants], &list); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := m.Merge(kind.source, podmanager.OpSet, list, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func merged(b *testing.B, m *podmanager.Mux, op podmanager.Op, list []*v1.Pod) {
	if _, err := m.Merge("api", op, list, now); err != nil {
		b.Fatal(err)
	}
}
