package podmanagertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/podmanager/source"
)

// The fake keeps the rules.
func TestFakeSourceKeepsTheRules(t *testing.T) {
	podmanagertest.TestSource(t, podmanagertest.SourceSuite{Open: func() (podmanagertest.World, error) {
		s := podmanagertest.NewSource()
		s.Set()
		return fakeWorld{s}, nil
	}})
}

type fakeWorld struct{ source *podmanagertest.Source }

func (w fakeWorld) Source() podmanager.PodSource { return w.source }
func (w fakeWorld) Write(pods []*v1.Pod) error   { w.source.Set(pods...); return nil }
func (w fakeWorld) Break() error                 { w.source.Fail(errors.New("broken")); return nil }
func (w fakeWorld) Mend() error                  { w.source.Fail(nil); return nil }

// source.Channel keeps the rules, when its host does.
func TestChannelKeepsTheRules(t *testing.T) {
	podmanagertest.TestSource(t, podmanagertest.SourceSuite{Open: func() (podmanagertest.World, error) {
		return &channelWorld{reports: make(chan podmanager.Report, 100)}, nil
	}})
}

// channelWorld is a host that sends all its pods to each new source, and after
// each change.
type channelWorld struct {
	reports chan podmanager.Report
	pods    []*v1.Pod
}

func (w *channelWorld) Source() podmanager.PodSource {
	w.reports = make(chan podmanager.Report, 100)
	w.send()
	return source.Channel(w.reports)
}

func (w *channelWorld) Write(pods []*v1.Pod) error {
	w.pods = pods
	w.send()
	return nil
}

func (w *channelWorld) send() {
	select {
	case w.reports <- podmanager.Report{Op: podmanager.OpSet, Pods: append([]*v1.Pod(nil), w.pods...)}:
	default: // nobody reads any more
	}
}

// source.File keeps the rules, with the watch and without.
func TestFileKeepsTheRules(t *testing.T) {
	for name, noWatch := range map[string]bool{"watch": false, "period": true} {
		t.Run(name, func(t *testing.T) {
			podmanagertest.TestSource(t, podmanagertest.SourceSuite{Open: func() (podmanagertest.World, error) {
				dir := filepath.Join(t.TempDir(), "pods")
				return &folder{dir: dir, noWatch: noWatch}, os.Mkdir(dir, 0o755)
			}})
		})
	}
}

// folder holds one manifest a pod.
type folder struct {
	dir     string
	noWatch bool
}

func (w *folder) Source() podmanager.PodSource {
	return &source.File{
		Path:    w.dir,
		Decoder: manifest.Decoder{Source: podmanager.SourceFile, NodeName: "node"},
		Period:  20 * time.Millisecond,
		NoWatch: w.noWatch,
	}
}

func (w *folder) Write(pods []*v1.Pod) error {
	wanted := map[string]bool{}
	for _, pod := range pods {
		path := filepath.Join(w.dir, pod.Name+".json")
		wanted[path] = true
		if err := replace(path, asManifest(pod)); err != nil {
			return err
		}
	}
	had, err := filepath.Glob(filepath.Join(w.dir, "*.json"))
	for _, path := range had {
		if !wanted[path] {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// replace writes a file at once.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (w *folder) Break() error { return os.Rename(w.dir, w.dir+".away") }
func (w *folder) Mend() error  { return os.Rename(w.dir+".away", w.dir) }
func (w *folder) Spoil(name string) error {
	return replace(filepath.Join(w.dir, name+".json"), []byte(`{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "`+name+`"}}`))
}

// asManifest is the pod as a person would write it: without a UID.
func asManifest(pod *v1.Pod) []byte {
	plain := pod.DeepCopy()
	plain.UID = ""
	data, err := json.Marshal(plain)
	if err != nil {
		panic(err)
	}
	return data
}

// source.HTTP keeps the rules.
func TestHTTPKeepsTheRules(t *testing.T) {
	podmanagertest.TestSource(t, podmanagertest.SourceSuite{Open: func() (podmanagertest.World, error) {
		w := &server{}
		w.http = httptest.NewServer(w)
		return w, nil
	}})
}

// server answers with a list.
type server struct {
	http *httptest.Server

	mu     sync.Mutex
	pods   []*v1.Pod
	broken bool
	spoilt string
}

func (w *server) Source() podmanager.PodSource {
	return &source.HTTP{
		URL:     w.http.URL,
		Decoder: manifest.Decoder{Source: podmanager.SourceHTTP, NodeName: "node"},
		Period:  20 * time.Millisecond,
	}
}

func (w *server) Write(pods []*v1.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pods, w.spoilt = pods, ""
	return nil
}

func (w *server) set(change func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	return nil
}

func (w *server) Break() error            { return w.set(func() { w.broken = true }) }
func (w *server) Mend() error             { return w.set(func() { w.broken = false }) }
func (w *server) Spoil(name string) error { return w.set(func() { w.spoilt = name }) }
func (w *server) Close() error            { w.http.Close(); return nil }

func (w *server) ServeHTTP(answer http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		http.Error(answer, "broken", http.StatusInternalServerError)
		return
	}
	list := v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{}}
	for _, pod := range w.pods {
		item := pod.DeepCopy()
		item.UID = ""
		if item.Name == w.spoilt {
			item.Spec.RestartPolicy = "Sometimes"
		}
		list.Items = append(list.Items, *item)
	}
	_ = json.NewEncoder(answer).Encode(list)
}

// Each deliberately broken source fails, and by the rule that it breaks.
func TestSuiteFindsBrokenSources(t *testing.T) {
	for name, c := range map[string]struct {
		rule  string
		fault fault
	}{
		"says nothing of an empty world":      {"empty", fault{silentWhenEmpty: true}},
		"begins with a delta":                 {"first-word", fault{firstOp: podmanager.OpAdd}},
		"never says that a pod is gone":       {"changes", fault{loseRemovals: true}},
		"sees only additions and removals":    {"changes", fault{loseUpdates: true}},
		"uses the Mux's own words":            {"changes", fault{op: podmanager.OpReconcile}},
		"has new UIDs in each Run":            {"identity", fault{newUIDs: true}},
		"gives all pods one UID":              {"identity", fault{oneUID: true}},
		"changes the pods that it handed out": {"handed-over", fault{reuse: true}},
		"ends with its context's error":       {"stop", fault{returnErr: true}},
		"does not end":                        {"stop", fault{deaf: true}},
		"goes on after Run":                   {"stop", fault{straggler: true}},
		"is spent after one Run":              {"again", fault{once: true}},
		"calls from two goroutines":           {"changes", fault{twoCallers: true}},
		"forgets all when it can't read":      {"silence", fault{emptyWhenBroken: true}},
		"hides that it can't read":            {"silence", fault{hideErrors: true}},
		"drops the pod of a bad manifest":     {"one-bad", fault{dropBad: true}},
		"refuses all for one bad manifest":    {"one-bad", fault{anonymous: true}},
		"hands over nothing, as pods":         {"first-word", fault{nilPods: true}},
		"makes who writes wait for a reader":  {"first-word", fault{stuck: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := podmanagertest.CheckSource(t.Context(), podmanagertest.SourceSuite{
					Open:     func() (podmanagertest.World, error) { return &memory{fault: c.fault, life: ctx}, nil },
					Patience: time.Minute,
				})
				require.Contains(t, conformance.Broken(err), c.rule, "%v", err)
				<-time.After(time.Second) // what goes on after Run ends by then
			})
		})
	}
}

// The same source without a fault passes.
func TestSuitePassesTheSourceWithoutFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, podmanagertest.CheckSource(t.Context(), podmanagertest.SourceSuite{
			Open: func() (podmanagertest.World, error) { return &memory{life: t.Context()}, nil },
		}))
	})
}

// A world that can't be opened is an error, not a pass.
func TestSuiteWithoutAWorld(t *testing.T) {
	err := podmanagertest.CheckSource(t.Context(), podmanagertest.SourceSuite{
		Open: func() (podmanagertest.World, error) { return nil, errors.New("no disk") },
	})
	require.ErrorContains(t, err, "no disk")
}

// fault is what is wrong with a source of memory.
type fault struct {
	silentWhenEmpty, loseRemovals, loseUpdates, newUIDs, oneUID, reuse bool
	returnErr, deaf, straggler, once, twoCallers                       bool
	emptyWhenBroken, hideErrors, dropBad, anonymous, nilPods, stuck    bool
	firstOp, op                                                        podmanager.Op
}

// memory is a world in memory, which its source polls each second.
type memory struct {
	fault
	life context.Context // ends those that don't end by themselves

	mu     sync.Mutex
	pods   []*v1.Pod
	broken bool
	spoilt string
	runs   int
	said   []*v1.Pod
}

func (w *memory) Write(pods []*v1.Pod) error {
	if w.stuck {
		<-w.life.Done()
	}
	return w.set(func() { w.pods, w.spoilt = pods, "" })
}
func (w *memory) Break() error                 { return w.set(func() { w.broken = true }) }
func (w *memory) Mend() error                  { return w.set(func() { w.broken = false }) }
func (w *memory) Spoil(name string) error      { return w.set(func() { w.spoilt = name }) }
func (w *memory) Source() podmanager.PodSource { return podmanager.SourceFunc(w.run) }

func (w *memory) set(change func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	return nil
}

func (w *memory) run(ctx context.Context, deliver func(podmanager.Report)) error {
	w.runs++
	w.said = nil
	if w.deaf {
		ctx = w.life
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for first := true; ; first = false {
		if r, ok := w.report(first); ok {
			deliver(r)
			if w.twoCallers {
				go deliver(r)
				deliver(r)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if w.straggler {
				go func() {
					late := time.NewTimer(10 * time.Millisecond)
					<-late.C
					deliver(podmanager.Report{})
				}()
			}
			if w.returnErr {
				return ctx.Err()
			}
			return nil
		}
	}
}

func (w *memory) report(first bool) (podmanager.Report, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.once && w.runs > 1 || w.silentWhenEmpty && len(w.pods) == 0 {
		return podmanager.Report{}, false
	}
	if w.broken {
		return w.unreadable()
	}
	r := podmanager.Report{Op: podmanager.OpSet}
	if first && w.firstOp != "" {
		r.Op = w.firstOp
	}
	if !first && w.op != "" {
		r.Op = w.op
	}
	if w.nilPods {
		r.Pods = append(r.Pods, nil)
	}
	for _, pod := range w.pods {
		if pod.Name == w.spoilt {
			w.refuse(&r, pod)
			continue
		}
		r.Pods = append(r.Pods, w.give(pod))
	}
	if w.loseRemovals {
		r.Op = podmanager.OpUpdate
		if first {
			r.Op = podmanager.OpSet
		}
	}
	w.said = r.Pods
	return r, true
}

func (w *memory) unreadable() (podmanager.Report, bool) {
	r := podmanager.Report{Err: errors.New("broken")}
	if w.hideErrors {
		r.Err = nil
	}
	if w.emptyWhenBroken {
		r.Op = podmanager.OpSet
	}
	return r, true
}

// refuse keeps the last good version of a pod.
func (w *memory) refuse(r *podmanager.Report, pod *v1.Pod) {
	r.Err = &podmanager.ManifestError{File: pod.Name, Pod: "default/" + pod.Name, Kept: true, Err: errors.New("spoilt")}
	if w.anonymous {
		r.Err = errors.New("something is wrong")
	}
	for _, old := range w.said {
		if old != nil && old.Name == pod.Name && !w.dropBad {
			r.Pods = append(r.Pods, old)
		}
	}
}

func (w *memory) give(pod *v1.Pod) *v1.Pod {
	for _, old := range w.said {
		if old == nil || old.Name != pod.Name {
			continue
		}
		if w.loseUpdates {
			return old
		}
		if w.reuse {
			old.Spec.NodeName = "elsewhere"
		}
	}
	own := pod.DeepCopy()
	if w.newUIDs {
		own.UID += "-" + types.UID(fmt.Sprint(w.runs))
	}
	if w.oneUID {
		own.UID = "one"
	}
	return own
}
