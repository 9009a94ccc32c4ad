package podmanager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// driven is a PodConfig that runs in a bubble, with two fakes and an account of
// what people are told.
type driven struct {
	*podmanager.PodConfig
	file, api *podmanagertest.Source
	stop      func() error

	mu       sync.Mutex
	problems []string
	events   []string
	log      bytes.Buffer
}

func (d *driven) Eventf(object apiruntime.Object, eventtype, reason, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, fmt.Sprint(eventtype, " ", reason, " ", object.(*v1.Pod).UID, " ", fmt.Sprintf(format, args...)))
}

func (d *driven) problem(p podmanager.Problem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.Err != nil {
		d.problems = append(d.problems, p.Source+": "+p.Err.Error())
	} else {
		d.problems = append(d.problems, p.Source+" warns: "+p.Warning)
	}
}

// told returns what people were told since it was asked last.
func (d *driven) told() (problems, events []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	problems, events = d.problems, d.events
	d.problems, d.events = nil, nil
	return problems, events
}

func drive(t *testing.T) *driven {
	d := &driven{file: podmanagertest.NewSource(), api: podmanagertest.NewSource()}
	c, err := podmanager.NewPodConfig(podmanager.Config{
		Sources:   map[string]podmanager.PodSource{"file": d.file, "api": d.api},
		Events:    d,
		OnProblem: d.problem,
		Logger:    slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	require.NoError(t, err)
	d.PodConfig = c
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	d.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = d.stop() })
	return d
}

// read returns all updates that are there now, in words.
func (d *driven) read() string {
	var all []podmanager.Update
	for {
		synctest.Wait()
		select {
		case u, open := <-d.Updates():
			if !open {
				return words(all) + " closed"
			}
			all = append(all, u)
		default:
			return words(all)
		}
	}
}

func TestPodConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		require.Empty(t, d.read())
		require.False(t, d.SeenAll())

		d.file.Set(pod("a"), pod("b"))
		require.Equal(t, "file ADD a b", d.read())
		require.True(t, d.Seen("file"))
		require.False(t, d.Seen("api"))
		require.False(t, d.Seen("nobody"))
		require.False(t, d.SeenAll())

		d.api.Set()
		d.api.Add(pod("c"))
		require.Equal(t, "api ADD; api ADD c", d.read())
		require.True(t, d.SeenAll())

		d.file.Set(pod("b uid-b img:2"))
		d.api.Update(pod("c", phase(v1.PodRunning)))
		require.ElementsMatch(t, []string{"file REMOVE a", "file UPDATE b", "api RECONCILE c"}, strings.Split(d.read(), "; "))

		require.NoError(t, d.stop())
		require.Equal(t, " closed", d.read())
		require.ErrorContains(t, d.Run(t.Context()), "called twice")
	})
}

// A source counts as heard once its first list was handed out, not before: who
// removes what the source does not want must know what it wants.
func TestPodConfigSeenAfterHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		d.file.Restore(pod("old"))
		require.Equal(t, "file RESTORE old", d.read())
		require.False(t, d.Seen("file"))
		d.file.Set(pod("old"))
		synctest.Wait()
		require.False(t, d.Seen("file"), "nobody has read the list")
		require.Equal(t, "file ADD", d.read())
		require.True(t, d.Seen("file"))
	})
}

// Nobody reads, and one source floods: no source waits, nothing is lost, and
// what is kept is no more than the last word about each pod.
func TestPodConfigSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		d.file.Set(pod("a"))
		synctest.Wait() // the reader is offered this one, and does not come
		d.file.Flood(1000, pod("a"), pod("b"))
		d.file.Set(pod("b"))
		d.api.Set(pod("x"), pod("y"), pod("z"))
		for i := range 1000 {
			d.api.Update(pod(fmt.Sprintf("x uid-x img:%d", i)))
		}
		d.api.Remove(pod("y"))
		d.api.Add(pod("z 2"))
		synctest.Wait()
		require.Equal(t, 1002, d.file.Said(), "the source did not wait")
		require.Equal(t, 1003, d.api.Said())

		got := strings.Split(d.read(), "; ")
		slices.Sort(got) // the order among sources is open
		require.Equal(t, []string{
			"api ADD x y z", "api ADD z(2)", "api REMOVE y", "api REMOVE z", "api UPDATE x",
			"file ADD a", "file ADD b", "file REMOVE a",
		}, got)
		require.True(t, d.SeenAll())
		require.Equal(t, []int{2, 1}, []int{d.Status()[0].Pods, d.Status()[1].Pods})
	})
}

// A reader that never comes does not keep Run from ending.
func TestPodConfigEndsWithoutReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		d.file.Set(pod("a"))
		synctest.Wait()
		require.NoError(t, d.stop())
		_, open := <-d.Updates()
		require.False(t, open)
	})
}

// People are told of a problem once while it lasts, and of each by itself.
func TestPodConfigProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		bad := &podmanager.ManifestError{File: "/pods/a.yaml", Pod: "default/a", Kind: podmanager.ManifestValidation, Err: errors.New("spec.containers: Required value")}
		worse := errors.New("the disk is failing")
		began := time.Now()
		d.file.Fail(errors.Join(bad, errors.Join(worse)))
		synctest.Wait()
		problems, _ := d.told()
		require.Equal(t, []string{"file: /pods/a.yaml: pod default/a: spec.containers: Required value", "file: the disk is failing"}, problems)

		<-time.After(time.Minute)
		d.file.Fail(errors.Join(worse, fmt.Errorf("it smells: %w, %w", errors.New("smoke"), errors.New("ozone"))))
		synctest.Wait()
		problems, _ = d.told()
		require.Equal(t, []string{"file: it smells: smoke, ozone"}, problems)
		status := d.Status()[1]
		require.Equal(t, "file", status.Name)
		require.ErrorIs(t, status.Err, worse)
		require.Equal(t, began, status.Since)
		require.Equal(t, time.Minute, status.LastReport.Sub(began))
		require.False(t, status.Seen)

		d.file.Fail(hollow{})
		synctest.Wait()
		problems, _ = d.told()
		require.Equal(t, []string{"file: hollow"}, problems)

		d.file.Fail(nil)
		synctest.Wait()
		require.NoError(t, d.Status()[1].Err)
		require.Zero(t, d.Status()[1].Since)
		require.Contains(t, d.log.String(), "source is well again")
		require.Zero(t, d.Status()[0].LastReport, "the other source has said nothing")
	})
}

// hollow is an error that claims to be made of others, and is not.
type hollow struct{}

func (hollow) Error() string   { return "hollow" }
func (hollow) Unwrap() []error { return nil }

// Events about refused pods come once while the reason lasts.
func TestPodConfigEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		for range 3 {
			d.file.Set(pod("50%d 1"), pod("50%d 2"))
			d.read()
		}
		_, events := d.told()
		require.Equal(t, []string{`Warning FailedValidation 2 Error validating pod 50%d_default(2) from file due to duplicate pod name "50%d", ignoring`}, events)
		require.Equal(t, 1, strings.Count(d.log.String(), "a pod is refused"), "for a host without Events")
		d.file.Set(pod("50%d 1"))
		d.read()
		d.file.Set(pod("50%d 1"), pod("50%d 2"))
		d.read()
		_, events = d.told()
		require.Len(t, events, 1)
	})
}

// A source that ends is reported; its pods stay, and the others go on.
func TestPodConfigSourceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		d.file.Set(pod("a"))
		d.file.End(errors.New("the disk is gone"))
		require.Equal(t, "file ADD a", d.read())
		problems, _ := d.told()
		require.Equal(t, []string{"file: source file ended: the disk is gone"}, problems)
		status := d.Status()[1]
		require.True(t, status.Ended)
		require.ErrorContains(t, status.Err, "the disk is gone")
		require.Equal(t, 1, status.Pods)
		d.api.Set(pod("b"))
		require.Equal(t, "api ADD b", d.read())
	})
}

// A source that lies about its operation is reported, and changes nothing.
func TestPodConfigUnknownOp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan podmanager.Report, 1)
		var problems []string
		c, err := podmanager.NewPodConfig(podmanager.Config{
			Sources: map[string]podmanager.PodSource{"x": podmanager.SourceFunc(func(ctx context.Context, deliver func(podmanager.Report)) error {
				deliver(<-reports)
				<-ctx.Done()
				return nil
			})},
			OnProblem: func(p podmanager.Problem) { problems = append(problems, p.Err.Error()) },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go c.Run(ctx)
		reports <- podmanager.Report{Op: "PURGE", Pods: pods(pod("a"))}
		synctest.Wait()
		require.Equal(t, []string{`unknown operation "PURGE" from source x`}, problems)
		require.Zero(t, c.Status()[0].Pods)
		cancel()
		synctest.Wait()
	})
}

// A source that does not end is named, and does not keep Run for ever.
func TestPodConfigDeafSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, err := podmanager.NewPodConfig(podmanager.Config{Sources: map[string]podmanager.PodSource{
			"deaf": podmanager.SourceFunc(func(context.Context, func(podmanager.Report)) error { <-release; return nil }),
		}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.EqualError(t, c.Run(ctx), "podmanager: sources that did not stop within 10s: [deaf]")
		close(release)
	})
}

func TestNewPodConfigChecks(t *testing.T) {
	_, err := podmanager.NewPodConfig(podmanager.Config{Sources: map[string]podmanager.PodSource{"": podmanagertest.NewSource()}})
	require.ErrorContains(t, err, "Config.Sources: a source has no name")
	_, err = podmanager.NewPodConfig(podmanager.Config{Sources: map[string]podmanager.PodSource{"file": nil}})
	require.ErrorContains(t, err, "Config.Sources: source file is nil")
	c, err := podmanager.NewPodConfig(podmanager.Config{})
	require.NoError(t, err)
	require.True(t, c.SeenAll())
}

// Pods that come from a source as words one after the other end as the words
// say, however many of them the reader missed.
func TestPodConfigCoalescingKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t)
		d.file.Set()
		synctest.Wait() // offered, not read
		d.file.Add(pod("a 1"))
		d.file.Add(pod("a 2")) // in the place of 1
		d.file.Add(pod("a 1")) // and back
		d.file.Add(pod("b"), pod("c"))
		d.file.Remove(pod("b"))
		d.file.Restore(pod("c uid-c img:0"))
		require.Equal(t, "file ADD; file ADD a(1) c", d.read())
	})
}
