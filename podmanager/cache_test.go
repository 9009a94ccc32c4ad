package podmanager_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// uses is a pod that refers to Secrets by their names.
func uses(uid string, names ...string) *v1.Pod {
	p := pod("pod " + uid)
	for _, name := range names {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, local(name))
	}
	return p
}

// byObject and unwatched take powers from a source.
type (
	byObject struct {
		podmanager.ObjectSource
		podmanager.ObjectWatcher
	}
	unwatched struct{ podmanager.ObjectSource }
)

// cacheTest is a cache over a fake source of Secrets, in a bubble.
type cacheTest struct {
	*testing.T
	*podmanager.Cache
	source *podmanagertest.Objects
}

func testCache(t *testing.T, cfg podmanager.CacheConfig, check func(*cacheTest)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cacheTest{T: t, source: podmanagertest.NewObjects(podmanager.KindSecret)}
		switch cfg.Secrets.(type) {
		case byObject:
			cfg.Secrets = byObject{c.source, c.source}
		case unwatched:
			cfg.Secrets = unwatched{c.source}
		default:
			cfg.Secrets = c.source
		}
		cache, err := podmanager.NewCache(cfg)
		require.NoError(t, err)
		c.Cache = cache
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cache.Run(ctx) }()
		synctest.Wait()
		check(c)
		cancel()
		require.NoError(t, <-done)
		require.Zero(t, c.source.Watches())
	})
}

func (c *cacheTest) put(name, value string) { c.source.Put(secretObject("default", name, value)) }

// reads checks what a Secret reads as: a value, or an error's words.
func (c *cacheTest) reads(name, want string) {
	c.Helper()
	s, err := c.Secret(c.Context(), "default", name)
	if err != nil {
		require.Nil(c, s)
		require.EqualError(c, err, want)
		return
	}
	require.Equal(c, want, string(s.Data["password"]))
}

// takes checks which pods are to look at their objects.
func (c *cacheTest) takes(want ...types.UID) {
	c.Helper()
	synctest.Wait()
	told := false
	select {
	case <-c.Changed():
		told = true
	default:
	}
	require.Equal(c, len(want) > 0, told)
	require.Equal(c, want, c.Take())
}

func TestCacheReadsWhatIsRegistered(t *testing.T) {
	for _, strategy := range []podmanager.CacheStrategy{podmanager.CacheWatch, podmanager.CacheTTL, podmanager.CacheGet} {
		t.Run(string(strategy), func(t *testing.T) {
			testCache(t, podmanager.CacheConfig{Strategy: strategy}, func(c *cacheTest) {
				c.put("a", "1")
				c.reads("a", `object "default"/"a" not registered`)
				_, err := c.Secret(c.Context(), "default", "a")
				require.ErrorIs(c, err, podmanager.ErrNotRegistered)
				web := uses("1", "a", "b")
				c.Register(web)
				c.Register(web)
				c.reads("a", "1")
				c.reads("b", `secret "b" not found`)
				_, err = c.Secret(c.Context(), "default", "b")
				require.True(c, apierrors.IsNotFound(err))

				c.Register(uses("2", "a"))
				require.Equal(c, 2, c.Stats().Objects)
				c.Register(uses("1", "b"))
				c.reads("a", "1")
				c.Unregister("2")
				c.reads("a", `object "default"/"a" not registered`)
				c.Unregister("2")
				c.Unregister("1")
				synctest.Wait()
				require.Equal(c, podmanager.CacheStats{}, c.Stats())
				require.Zero(c, c.source.Watches())
			})
		})
	}
}

func TestCacheWithoutASource(t *testing.T) {
	testCache(t, podmanager.CacheConfig{}, func(c *cacheTest) {
		p := pod("web")
		p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: local("web")}}}}
		c.Register(p)
		_, err := c.ConfigMap(c.Context(), "default", "web")
		require.EqualError(c, err, "ConfigMap default/web: there is no source of this kind of object")
		require.ErrorIs(c, err, podmanager.ErrNoObjectSource)
	})
	_, err := podmanager.NewCache(podmanager.CacheConfig{Strategy: "Guess"})
	require.EqualError(t, err, `podmanager: CacheConfig.Strategy: unknown strategy "Guess"`)
}

// One watch serves a namespace; what is registered once it stands is read by
// itself, and followed from then on. Reads cost the source nothing.
func TestCacheWatchesANamespace(t *testing.T) {
	testCache(t, podmanager.CacheConfig{}, func(c *cacheTest) {
		c.put("a", "1")
		c.put("b", "1")
		c.Register(uses("1", "a"))
		c.reads("a", "1")
		c.Register(uses("2", "b", "c"))
		for range 3 {
			c.reads("b", "1")
			c.reads("c", `secret "c" not found`)
		}
		require.Equal(c, 2, c.source.Gets(), "b and c, once each")
		require.Equal(c, 1, c.source.Watches())
		c.takes()

		c.put("a", "2")
		c.put("b", "2")
		c.put("c", "2")
		c.put("stranger", "2")
		c.takes("1", "2")
		c.reads("a", "2")
		c.reads("c", "2")
		c.source.Delete("default", "a")
		c.takes("1")
		c.reads("a", `secret "a" not found`)
		c.put("b", "2")
		c.takes() // the same again
	})
}

func TestCacheWatchesAnObject(t *testing.T) {
	testCache(t, podmanager.CacheConfig{Secrets: byObject{}}, func(c *cacheTest) {
		c.put("a", "1")
		c.Register(uses("1", "a", "b"))
		c.Register(uses("2", "a"))
		synctest.Wait()
		require.Equal(c, 2, c.source.Watches())
		c.reads("a", "1")
		c.put("a", "2")
		c.takes("1", "2")
		c.reads("a", "2")
		c.put("b", "1")
		c.takes("1")
		c.Unregister("1")
		synctest.Wait()
		require.Equal(c, 1, c.source.Watches())
		require.Zero(c, c.source.Gets())
	})
}

// A read waits a second for the first word of a watch, and no longer; who asked
// in vain is told when there is an answer.
func TestCacheWaitsForTheFirstWord(t *testing.T) {
	testCache(t, podmanager.CacheConfig{}, func(c *cacheTest) {
		c.put("a", "1")
		c.source.Hang()
		c.Register(uses("1", "a"))
		began := time.Now()
		c.reads("a", "failed to sync secret cache: timed out waiting for the condition")
		require.Equal(c, time.Second, time.Since(began))
		c.source.Resume()
		c.takes("1")
		c.reads("a", "1")

		c.source.Hang()
		c.Register(uses("1"))
		c.Register(uses("1", "a"))
		ctx, cancel := context.WithTimeout(c.Context(), time.Millisecond)
		defer cancel()
		_, err := c.Secret(ctx, "default", "a")
		require.ErrorIs(c, err, context.DeadlineExceeded)
	})
}

// A watch that fails is begun again, and what was known stays.
func TestCacheKeepsWhatItKnows(t *testing.T) {
	testCache(t, podmanager.CacheConfig{}, func(c *cacheTest) {
		c.put("a", "1")
		c.Register(uses("1", "a"))
		c.reads("a", "1")
		c.source.Fail(errors.New("no route to host"))
		synctest.Wait()
		c.reads("a", "1")
		require.EqualError(c, c.Stats().Err, "watch Secret default/: no route to host")
		c.put("a", "2")
		time.Sleep(time.Minute)
		c.reads("a", "1")
		c.source.Fail(nil)
		time.Sleep(30 * time.Second)
		c.takes("1")
		c.reads("a", "2")
		require.NoError(c, c.Stats().Err)
		for range 5 { // a watch that ends every second
			c.source.End()
			c.put("a", fmt.Sprint(time.Now().Unix()))
			time.Sleep(time.Second)
			c.takes("1")
		}
	})
}

// kubernetes/kubernetes: an older version never replaces a newer one.
func TestCacheIgnoresOlderVersions(t *testing.T) {
	at := func(version, value string) podmanager.Object {
		s := secretObject("default", "a", value).Secret()
		s.ResourceVersion = version
		return podmanager.SecretObject(s)
	}
	for _, strategy := range []podmanager.CacheStrategy{podmanager.CacheWatch, podmanager.CacheTTL} {
		t.Run(string(strategy), func(t *testing.T) {
			testCache(t, podmanager.CacheConfig{Strategy: strategy}, func(c *cacheTest) {
				c.source.Put(at("10", "new"))
				c.Register(uses("1", "a"))
				c.reads("a", "new")
				c.source.Put(at("9", "old"))
				time.Sleep(2 * time.Minute)
				c.reads("a", "new")
				c.source.Put(at("11", "newer"))
				time.Sleep(2 * time.Minute)
				c.reads("a", "newer")
			})
		})
	}
}

// Immutable objects are read once, and need no watch.
func TestCacheImmutable(t *testing.T) {
	yes := true
	fixed := secretObject("default", "a", "1")
	fixed.Secret().Immutable = &yes
	for _, strategy := range []podmanager.CacheStrategy{podmanager.CacheWatch, podmanager.CacheTTL} {
		t.Run(string(strategy), func(t *testing.T) {
			testCache(t, podmanager.CacheConfig{Strategy: strategy}, func(c *cacheTest) {
				c.source.Put(fixed)
				c.Register(uses("1", "a"))
				c.reads("a", "1")
				synctest.Wait()
				require.Zero(c, c.source.Watches())
				gets := c.source.Gets()
				c.put("a", "2")
				c.Register(uses("2", "a"))
				time.Sleep(time.Hour)
				c.reads("a", "1")
				require.Equal(c, gets, c.source.Gets())
				c.takes()
				c.Unregister("1")
				c.Unregister("2")
				c.Register(uses("1", "a"))
				c.reads("a", "2")
			})
		})
	}
}

// A watch that nobody reads from ends, and the next read begins it again.
func TestCacheIdle(t *testing.T) {
	testCache(t, podmanager.CacheConfig{}, func(c *cacheTest) {
		c.put("a", "1")
		c.Register(uses("1", "a"))
		c.reads("a", "1")
		time.Sleep(4 * time.Minute)
		c.reads("a", "1")
		time.Sleep(4 * time.Minute)
		require.Equal(c, 1, c.source.Watches())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(c, c.source.Watches())
		c.put("a", "2")
		c.takes()
		c.reads("a", "2")
		c.takes("1") // it changed while nobody looked
		require.Equal(c, 1, c.source.Watches())

		c.source.Hang()
		c.Register(uses("1"))
		c.Register(uses("1", "a"))
		time.Sleep(time.Hour)
		require.Equal(c, 1, c.Stats().Watches, "one that has said nothing yet is not idle")
	})
}

func TestCacheTTL(t *testing.T) {
	ttl := time.Minute
	cfg := podmanager.CacheConfig{Strategy: podmanager.CacheTTL, TTL: func() time.Duration { return ttl }}
	testCache(t, cfg, func(c *cacheTest) {
		c.put("a", "1")
		c.Register(uses("1", "a"))
		c.reads("a", "1")
		c.put("a", "2")
		time.Sleep(time.Minute - 1)
		c.reads("a", "1")
		c.Register(uses("1", "a", "b"))
		c.reads("a", "1") // an unchanged reference touches nothing
		time.Sleep(time.Nanosecond)
		c.reads("a", "2")
		c.takes("1")
		c.put("a", "3")
		c.Register(uses("2", "a"))
		c.reads("a", "3") // a new one does

		c.source.Fail(errors.New("down"))
		time.Sleep(time.Hour)
		c.reads("a", "3")
		c.Register(uses("3", "a"))
		c.reads("a", "down")
		c.source.Fail(nil)
		c.reads("a", "3")
		c.takes("1", "2", "3")
		c.source.Delete("default", "a")
		time.Sleep(time.Hour)
		c.reads("a", `secret "a" not found`)

		ttl = 0
		gets := c.source.Gets()
		c.reads("a", `secret "a" not found`)
		c.reads("a", `secret "a" not found`)
		require.Equal(c, gets+2, c.source.Gets())
	})
	testCache(t, podmanager.CacheConfig{Secrets: unwatched{}}, func(c *cacheTest) {
		c.put("a", "1")
		c.Register(uses("1", "a"))
		c.reads("a", "1")
		c.reads("a", "1")
		require.Equal(c, 1, c.source.Gets(), "what can't be watched is kept for a time")
	})
}

func TestNodeTTL(t *testing.T) {
	node := func(text string) *v1.Node {
		n := &v1.Node{}
		n.Annotations = map[string]string{"node.alpha.kubernetes.io/ttl": text}
		return n
	}
	require.Equal(t, time.Minute, podmanager.NodeTTL(nil))
	require.Equal(t, time.Minute, podmanager.NodeTTL(node("soon")))
	require.Equal(t, time.Minute, podmanager.NodeTTL(node("-1")))
	require.Equal(t, time.Duration(0), podmanager.NodeTTL(node("0")))
	require.Equal(t, 30*time.Second, podmanager.NodeTTL(node("30")))
}

// Readers that come together share one read of the source; one that gives up
// does not take the others with it.
func TestCacheReadsTogether(t *testing.T) {
	testCache(t, podmanager.CacheConfig{Strategy: podmanager.CacheTTL}, func(c *cacheTest) {
		c.put("a", "1")
		c.Register(uses("1", "a"))
		c.source.Hang()
		ctx, cancel := context.WithCancel(c.Context())
		first := make(chan error, 1)
		go func() {
			_, err := c.Secret(ctx, "default", "a")
			first <- err
		}()
		synctest.Wait()
		const readers = 10
		rest := make(chan error, readers)
		for range readers {
			go func() {
				_, err := c.Secret(c.Context(), "default", "a")
				rest <- err
			}()
		}
		synctest.Wait()
		cancel()
		require.ErrorIs(c, <-first, context.Canceled)
		c.source.Resume()
		for range readers {
			require.NoError(c, <-rest)
		}
		require.Equal(c, 1, c.source.Gets())
	})
}

// Without Run, before and after, each read asks the source.
func TestCacheWithoutRun(t *testing.T) {
	source := podmanagertest.NewObjects(podmanager.KindSecret)
	c, err := podmanager.NewCache(podmanager.CacheConfig{Secrets: source})
	require.NoError(t, err)
	source.Put(secretObject("default", "a", "1"))
	c.Register(uses("1", "a"))
	read := func(want string) {
		s, err := c.Secret(t.Context(), "default", "a")
		require.NoError(t, err)
		require.Equal(t, want, string(s.Data["password"]))
	}
	read("1")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	cancel()
	require.NoError(t, <-done)
	source.Put(secretObject("default", "a", "2"))
	read("2")
	require.EqualError(t, c.Run(t.Context()), "podmanager: Cache.Run was called twice")
	require.Zero(t, source.Watches())
}

// What was read before Run and changed since is told once Run has begun.
func TestCacheTellsOfChangesBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := podmanagertest.NewObjects(podmanager.KindSecret)
		c, err := podmanager.NewCache(podmanager.CacheConfig{Secrets: source})
		require.NoError(t, err)
		c.Register(uses("1", "a"))
		c.Register(uses("2", "b"))
		for _, name := range []string{"a", "b"} {
			_, err = c.Secret(t.Context(), "default", name)
			require.True(t, apierrors.IsNotFound(err))
		}
		source.Put(secretObject("default", "a", "1"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		<-c.Changed()
		require.Equal(t, []types.UID{"1"}, c.Take())
		cancel()
		require.NoError(t, <-done)
	})
}

// An object that changes a thousand times a second costs its readers one look.
func TestCacheCoalesces(t *testing.T) {
	testCache(t, podmanager.CacheConfig{}, func(c *cacheTest) {
		c.put("a", "1")
		c.Register(uses("1", "a"))
		c.reads("a", "1")
		for i := range 1000 {
			c.put("a", fmt.Sprint(i))
		}
		c.takes("1")
		c.takes()
		c.reads("a", "999")
		c.put("a", "more")
		synctest.Wait()
		c.Unregister("1")
		require.Empty(c, c.Take(), "a pod that is gone is told nothing")
	})
}

// A pod with 10,000 references.
func TestCacheManyReferences(t *testing.T) {
	names := strings.Fields(strings.Repeat("x ", 10000))
	for i := range names {
		names[i] = fmt.Sprintf("s-%d", i)
	}
	testCache(t, podmanager.CacheConfig{}, func(c *cacheTest) {
		c.Register(uses("1", names...))
		c.Register(uses("1", names[1:]...))
		synctest.Wait()
		require.Equal(c, podmanager.CacheStats{Pods: 1, Objects: 9999, Watches: 1}, c.Stats())
	})
}
