package podmanager_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// FuzzCache lets pods come and go, objects change, and watches end, two bytes a
// step, and holds what is read against what the source has, and what the cache
// holds against what the pods refer to.
func FuzzCache(f *testing.F) {
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte{0, 7, 2, 1, 6, 0, 2, 17, 4, 0, 6, 0, 1, 0, 2, 33, 5, 9, 6, 0, 3, 1, 6, 0, 1, 2})
	f.Add([]byte{128, 7, 2, 1, 6, 0, 2, 17, 4, 0, 6, 0, 1, 0, 2, 33, 5, 9, 6, 0, 3, 1, 6, 0, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		synctest.Test(t, func(t *testing.T) { fuzzCache(t, data[0]>>7 == 1, data[:min(len(data), 120)]) })
	})
}

func fuzzCache(t *testing.T, byObjects bool, data []byte) {
	source := podmanagertest.NewObjects(podmanager.KindSecret)
	cfg := podmanager.CacheConfig{Secrets: source}
	if byObjects {
		cfg.Secrets = byObject{source, source}
	}
	cache, err := podmanager.NewCache(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cache.Run(ctx) }()
	synctest.Wait()

	refers := map[types.UID][]string{} // names, by pod
	stored := map[string]string{}      // values, by name
	for ; len(data) > 1; data = data[2:] {
		action, b := data[0]%7, data[1]
		uid, name := types.UID(fmt.Sprint(b&3)), fmt.Sprint("s", b>>2&3)
		var concerned []types.UID // who must be told, having read it
		for pod, names := range refers {
			if slices.Contains(names, name) {
				concerned = append(concerned, pod)
			}
		}
		slices.Sort(concerned)
		switch action {
		case 0:
			names := []string{name, fmt.Sprint("s", b>>4&3)}
			refers[uid] = names
			cache.Register(uses(string(uid), names...))
			concerned = nil
		case 1:
			delete(refers, uid)
			cache.Unregister(uid)
			concerned = nil
		case 2:
			value := fmt.Sprint(b >> 4)
			if stored[name] == value {
				concerned = nil
			}
			stored[name] = value
			source.Put(secretObject("default", name, value))
		case 3:
			if stored[name] == "" {
				concerned = nil
			}
			delete(stored, name)
			source.Delete("default", name)
		case 4: // watches end, and are there again in a second
			source.End()
			time.Sleep(3 * time.Second)
			concerned = nil
		case 5: // too long for an idle watch
			time.Sleep(time.Duration(b) * time.Minute)
			concerned = nil
		default:
			concerned = nil
		}
		synctest.Wait()
		require.Equal(t, concerned, cache.Take())
		compareCache(t, cache, source, refers, stored, byObjects)
	}
	cancel()
	require.NoError(t, <-done)
}

// compareCache reads everything, so that all is known.
func compareCache(t *testing.T, cache *podmanager.Cache, source *podmanagertest.Objects,
	refers map[types.UID][]string, stored map[string]string, byObjects bool) {
	named := map[string]bool{}
	for _, names := range refers {
		for _, name := range names {
			named[name] = true
		}
	}
	for i := range 4 {
		name := fmt.Sprint("s", i)
		s, err := cache.Secret(t.Context(), "default", name)
		switch {
		case !named[name]:
			require.ErrorIs(t, err, podmanager.ErrNotRegistered)
		case stored[name] == "":
			require.EqualError(t, err, fmt.Sprintf("secret %q not found", name))
		default:
			require.NoError(t, err)
			require.Equal(t, stored[name], string(s.Data["password"]))
		}
	}
	watches := min(len(named), 1)
	if byObjects {
		watches = len(named)
	}
	synctest.Wait()
	require.Equal(t, podmanager.CacheStats{Pods: len(refers), Objects: len(named), Watches: watches}, cache.Stats())
	require.Equal(t, watches, source.Watches())
}
