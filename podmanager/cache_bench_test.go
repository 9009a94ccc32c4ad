package podmanager_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/steady"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// sharing is pod i of those that share a number of Secrets and ConfigMaps.
func sharing(i, objects int) *v1.Pod {
	p := big(i, 0)
	p.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{
		LocalObjectReference: local(fmt.Sprint("config-", i%objects)),
	}}}
	p.Spec.ImagePullSecrets = []v1.LocalObjectReference{local(fmt.Sprint("secret-", i%objects))}
	return p
}

// full runs a cache with n registered pods, which share 100 objects.
func full(tb testing.TB, n int) (c *podmanager.Cache, configMaps, secrets *podmanagertest.Objects) {
	configMaps, secrets = podmanagertest.NewObjects(podmanager.KindConfigMap), podmanagertest.NewObjects(podmanager.KindSecret)
	for i := range 50 {
		configMaps.Put(configObject("default", fmt.Sprint("config-", i), "x"))
		secrets.Put(secretObject("default", fmt.Sprint("secret-", i), "x"))
	}
	c, err := podmanager.NewCache(podmanager.CacheConfig{ConfigMaps: configMaps, Secrets: secrets, Wait: time.Minute})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-done)
	})
	for i := range n {
		c.Register(sharing(i, 50))
	}
	return c, configMaps, secrets
}

// BenchmarkCacheRegister is one pod that comes and goes, of a fixed set of 100,
// beside others.
func BenchmarkCacheRegister(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			c, _, _ := full(b, n)
			var comes [variants]*v1.Pod
			for i := range comes {
				comes[i] = sharing(n+i, 50)
			}
			i := 0
			comeAndGo := func() {
				p := comes[i%variants]
				c.Register(p)
				c.Unregister(p.UID)
				i++
			}
			steady.Reach(comeAndGo)
			b.ReportAllocs()
			for b.Loop() {
				comeAndGo()
			}
		})
	}
}

// 10,000 pods that share 100 objects cost 100 objects, and a watch a kind and
// namespace.
func TestCacheShares(t *testing.T) {
	c, configMaps, secrets := full(t, 10_000)
	ctx := t.Context()
	require.Eventually(t, func() bool { return c.Stats().Watches == 2 }, time.Minute, time.Millisecond, "it runs")
	for i := range 50 {
		_, err := c.ConfigMap(ctx, "default", fmt.Sprint("config-", i))
		require.NoError(t, err)
		_, err = c.Secret(ctx, "default", fmt.Sprint("secret-", i))
		require.NoError(t, err)
	}
	require.Equal(t, podmanager.CacheStats{Pods: 10_000, Objects: 100, Watches: 2}, c.Stats())
	require.Equal(t, 1, configMaps.Watches())
	require.Equal(t, 1, secrets.Watches())

	configMaps.Put(configObject("default", "config-7", "y"))
	<-c.Changed()
	require.Len(t, c.Take(), 200)
}
