package checkpoint_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/podmanager/source"
)

var crashes = flag.Int("crashes", 10, "how often TestCrashes kills the agent")

// The test binary is an agent when it is told the folder.
const crashFolder, crashFrom = "CHECKPOINT_TEST_FOLDER", "CHECKPOINT_TEST_FROM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashFolder); dir != "" {
		from, _ := strconv.Atoi(os.Getenv(crashFrom))
		if err := beAgent(dir, from); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const crashPods = 100 // so many at once share a file

// past is what a source says, step by step, the same each time: versions by pod,
// which are the step of their last change, 0 for a pod that is not there.
type past struct {
	rng   *rand.Rand
	steps [][crashPods]int // steps[k] is what the source wants after step k
}

func newPast() *past {
	return &past{rng: rand.New(rand.NewPCG(1, 2)), steps: make([][crashPods]int, 1)}
}

// after returns what the source wants after step k.
func (p *past) after(k int) [crashPods]int {
	for len(p.steps) <= k {
		now := p.steps[len(p.steps)-1]
		changes := 1 + p.rng.IntN(4)
		if p.rng.IntN(4) == 0 {
			changes = crashPods
		}
		for _, i := range p.rng.Perm(crashPods)[:changes] {
			if now[i] != 0 && p.rng.IntN(3) == 0 {
				now[i] = 0
			} else {
				now[i] = len(p.steps)
			}
		}
		p.steps = append(p.steps, now)
	}
	return p.steps[k]
}

func crashUID(i int) types.UID { return types.UID(fmt.Sprintf("uid-p%d", i)) }

// beAgent is an agent whose source goes on changing from a step on. It prints "up" before
// its source speaks, "said K" before each step, "heard K I" when the reader of updates has heard of the
// change of a pod, and "remembered K" when the changed pods' step is on disk.
func beAgent(dir string, from int) error {
	folder, err := checkpoint.Open(checkpoint.Config{Dir: dir, Policy: checkpoint.All})
	if err != nil {
		return err
	}
	reports := make(chan podmanager.Report)
	pods, err := podmanager.NewPodConfig(podmanager.Config{
		Sources:     folder.Sources(map[string]podmanager.PodSource{"http": source.Channel(reports)}),
		Checkpoints: folder,
	})
	if err != nil {
		return err
	}
	go func() { _ = pods.Run(context.Background()) }()
	history := newPast()
	fmt.Println("up")
	reports <- podmanager.Report{Op: podmanager.OpSet, Pods: crashList(history.after(from))}
	for u := range pods.Updates() { // until the first list was heard
		if u.Op == podmanager.OpAdd || u.Op == podmanager.OpUpdate {
			break
		}
	}
	for k := from + 1; ; k++ {
		before, now := history.after(k-1), history.after(k)
		fmt.Println("said", k)
		reports <- podmanager.Report{Op: podmanager.OpSet, Pods: crashList(now)}
		var memories []checkpoint.Memory
		waits := map[types.UID]int{}
		for i := range now {
			if now[i] != before[i] {
				waits[crashUID(i)] = i
				memories = append(memories, checkpoint.Memory{UID: crashUID(i), Data: json.RawMessage(strconv.Itoa(k))})
			}
		}
		written := make(chan error, 1)
		go func() { written <- folder.Remember(context.Background(), memories) }()
		for len(waits) > 0 {
			u := <-pods.Updates()
			for _, pod := range u.Pods {
				i, ok := waits[pod.UID]
				if gone := u.Op == podmanager.OpRemove; ok && (gone && now[i] == 0 || !gone && versionOf(pod) == now[i]) {
					fmt.Println("heard", k, i)
					delete(waits, pod.UID)
				}
			}
		}
		if err := <-written; err != nil {
			return err
		}
		fmt.Println("remembered", k)
	}
}

// versionOf reads the version of a pod.
func versionOf(pod *v1.Pod) (version int) {
	_, _ = fmt.Sscanf(pod.Spec.Containers[0].Image, "v%d", &version)
	return version
}

func crashList(versions [crashPods]int) []*v1.Pod {
	var pods []*v1.Pod
	for i, version := range versions {
		if version != 0 {
			pods = append(pods, pod(fmt.Sprintf("p%d", i), image(fmt.Sprint("v", version))))
		}
	}
	return pods
}

// The agent is killed at any moment of its changes. Whatever its loop had heard is
// on disk; nothing is there that the source had not said, and nothing comes back.
// CI kills it 200 times: -crashes=200.
func TestCrashes(t *testing.T) {
	p := newPlace(t, checkpoint.All)
	history := newPast()
	rng := rand.New(rand.NewPCG(3, uint64(time.Now().UnixNano())))
	var heard, remembered [crashPods]int // the last step that must be on disk
	said := 0
	for range *crashes {
		delay := time.Duration(rng.IntN(60_000)) * time.Microsecond
		said = p.crash(said, delay, func(k int, i int) { heard[i] = k }, func(k int) {
			before, now := history.after(k-1), history.after(k)
			for i := range now {
				if now[i] != before[i] {
					remembered[i] = k
				}
			}
		})
		disk, memory := p.onDisk()
		for i := range crashPods {
			possible := map[int]bool{}
			for k := heard[i]; k <= said; k++ {
				possible[history.after(k)[i]] = true
			}
			require.True(t, possible[disk[i]], "pod %d is version %d on disk; its change %d was heard of, %d was said", i, disk[i], heard[i], said)
			require.GreaterOrEqual(t, memory[i], remembered[i], "pod %d", i)
			require.LessOrEqual(t, memory[i], said, "pod %d", i)
		}
	}
	t.Logf("%d crashes in %d steps", *crashes, said)
}

// crash lets an agent go on from a step, and kills it so long after it was up.
func (p *place) crash(from int, delay time.Duration, heard func(k, i int), remembered func(k int)) (said int) {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashFolder+"="+p.dir, fmt.Sprint(crashFrom, "=", from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	said = from
	var kill *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var word string
		var k, i int
		_, _ = fmt.Sscan(lines.Text(), &word, &k, &i)
		switch word {
		case "said":
			said = k
		case "heard":
			heard(k, i)
		case "remembered":
			remembered(k)
		}
		if kill == nil {
			kill = time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
		}
	}
	require.NotNil(p.t, kill, "the agent ended by itself")
	require.Error(p.t, cmd.Wait())
	return said
}

// onDisk returns versions and memories by pod.
func (p *place) onDisk() (versions, memories [crashPods]int) {
	p.t.Helper()
	folder := p.open()
	require.Empty(p.t, folder.Problems())
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	for _, source := range folder.Sources(nil) {
		require.NoError(p.t, source.Run(ctx, func(r podmanager.Report) {
			for _, pod := range r.Pods {
				var i int
				_, err := fmt.Sscanf(pod.Name, "p%d", &i)
				require.NoError(p.t, err)
				versions[i] = versionOf(pod)
			}
		}))
	}
	for _, m := range folder.Remembered() {
		var i int
		_, err := fmt.Sscanf(string(m.UID), "uid-p%d", &i)
		require.NoError(p.t, err)
		memories[i], err = strconv.Atoi(string(m.Data))
		require.NoError(p.t, err)
	}
	return versions, memories
}
