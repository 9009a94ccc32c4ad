package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func podWith(name string, status v1.PodStatus) *v1.Pod {
	start := metav1.NewTime(noon.Add(-time.Minute))
	status.StartTime = &start
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main"}}},
		Status:     status,
	}
}

func waiting(reason, message string, restarts int32) v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
		Name: "main", RestartCount: restarts,
		State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

func ready() v1.PodStatus {
	return v1.PodStatus{
		Phase:             v1.PodRunning,
		Conditions:        []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "main", Ready: true}},
	}
}

func TestTable(t *testing.T) {
	initPod := podWith("init", v1.PodStatus{Phase: v1.PodPending, InitContainerStatuses: []v1.ContainerStatus{{
		Name: "first", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
	}}})
	initPod.Spec.InitContainers = []v1.Container{{Name: "first"}, {Name: "second"}}
	leaving := podWith("leaving", ready())
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}

	growing := podWith("growing", ready())
	growing.Status.Conditions = append(growing.Status.Conditions, v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred, Message: "too little cpu",
	})

	taken := podWith("taken", waiting("CrashLoopBackOff", "back-off 10s", 1))
	taken.Status.ContainerStatuses[0].LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 1, Message: "begins\nport is taken\n"}

	var b bytes.Buffer
	require.NoError(t, writeTable(&b, []*v1.Pod{
		podWith("ready", ready()),
		podWith("crash", waiting("CrashLoopBackOff", "back-off\n20s \x1b[31mred", 2)),
		podWith("toobig", v1.PodStatus{Phase: v1.PodFailed, Reason: "OutOf\u009bcpu", Message: "no room"}),
		podWith("done", v1.PodStatus{Phase: v1.PodSucceeded}),
		podWith("unready", v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "main"}}}),
		initPod, leaving, growing, taken,
	}, map[types.UID]string{"unready": "readiness of main: no file"}, noon))
	require.Equal(t, `NAMESPACE   NAME      READY   STATUS             RESTARTS   AGE   MESSAGE
default     crash     0/1     CrashLoopBackOff   2          60s   back-off 20s [31mred
default     done      0/1     Completed          0          60s   
default     growing   1/1     Running            0          60s   resize deferred: too little cpu
default     init      0/1     Init:0/2           0          60s   
default     leaving   1/1     Terminating        0          60s   
default     ready     1/1     Running            0          60s   
default     taken     0/1     CrashLoopBackOff   1          60s   exited with 1: port is taken; back-off 10s
default     toobig    0/1     OutOfcpu           0          60s   no room
default     unready   0/1     Running            0          60s   readiness of main: no file
`, b.String(), "what a process wrote does not reach the terminal as it is")
}

func TestPodThatIsBeingStoppedIsNotOverYet(t *testing.T) {
	pod := podWith("a", ready())
	pod.Status.Phase, pod.Status.Reason = v1.PodFailed, "Terminated"
	pod.Status.ContainerStatuses[0].State.Running = &v1.ContainerStateRunning{}
	pod.DeletionTimestamp = &metav1.Time{Time: noon}
	require.Equal(t, "Terminating", statusWord(pod))
	pod.Status.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	require.Equal(t, "Terminated", statusWord(pod))
}

func TestContainersAreCountedAsKubectlDoes(t *testing.T) {
	pod := podWith("a", ready())
	pod.Spec.InitContainers = []v1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}
	pod.Status.ContainerStatuses[0].RestartCount = 2
	pod.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "setup", Ready: true, RestartCount: 5}, {Name: "proxy", RestartCount: 1}}
	ready, total := readyContainers(pod)
	require.Equal(t, [2]int{1, 2}, [2]int{ready, total})
	require.EqualValues(t, 3, restarts(pod), "what the init containers took is over")
	pod.Status.Phase = v1.PodPending
	require.EqualValues(t, 8, restarts(pod))
}

func TestSettled(t *testing.T) {
	for _, c := range []struct {
		name   string
		status v1.PodStatus
		after  time.Duration
	}{
		{"finished", v1.PodStatus{Phase: v1.PodSucceeded}, 0},
		{"rejected", v1.PodStatus{Phase: v1.PodFailed, Reason: "OutOfcpu"}, 0},
		{"third failure", waiting("CrashLoopBackOff", "", 2), 0},
		{"ready", ready(), steady},
		{"starting", waiting("ContainerCreating", "", 0), 30 * time.Second},
		{"second failure", waiting("CrashLoopBackOff", "", 1), 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSettler(30 * time.Second)
			pods := []*v1.Pod{podWith("a", c.status)}
			for at := time.Duration(0); at < c.after; at += steady / 2 {
				require.False(t, s.settled(pods, noon.Add(at)), "after %s", at)
			}
			require.True(t, s.settled(pods, noon.Add(c.after)))
		})
	}
	t.Run("each state begins anew", func(t *testing.T) {
		s := newSettler(30 * time.Second)
		up, down := []*v1.Pod{podWith("a", ready())}, []*v1.Pod{podWith("a", waiting("", "", 0))}
		require.False(t, s.settled(down, noon))
		require.False(t, s.settled(up, noon.Add(29*time.Second)))
		require.False(t, s.settled(down, noon.Add(31*time.Second)))
		require.False(t, s.settled(up, noon.Add(32*time.Second)))
		require.True(t, s.settled(up, noon.Add(33*time.Second)))
	})
	t.Run("who is waited for", func(t *testing.T) {
		s := newSettler(30 * time.Second)
		pods := []*v1.Pod{podWith("a", ready()), podWith("b", waiting("", "", 0))}
		s.settled(pods, noon)
		require.False(t, s.settled(pods, noon.Add(puzzling-1)))
		require.Empty(t, s.late)
		require.False(t, s.settled(pods, noon.Add(puzzling)))
		require.Equal(t, []string{pods[1].Namespace + "/b"}, s.late)
		require.True(t, s.settled(pods, noon.Add(30*time.Second)))
		require.Empty(t, s.late)
	})
	t.Run("all of them", func(t *testing.T) {
		s := newSettler(30 * time.Second)
		require.False(t, s.settled([]*v1.Pod{podWith("a", ready()), podWith("b", waiting("", "", 0))}, noon))
		require.False(t, s.settled([]*v1.Pod{podWith("a", ready()), podWith("b", waiting("", "", 0))}, noon.Add(steady)))
	})
}

func TestEventsThatRepeatArePrintedAtAFallingRate(t *testing.T) {
	var b bytes.Buffer
	log := newEventLog(&b)
	for range 9 {
		log.Eventf(podWith("a", v1.PodStatus{}), v1.EventTypeWarning, "BackOff", "again\nand %s", "again")
	}
	out := b.String()
	require.Equal(t, 4, bytes.Count(b.Bytes(), []byte("\n")), out)
	require.Contains(t, out, "Warning pod/default/a BackOff: again and again")
	require.Contains(t, out, "(8 times)")
	log.Eventf(&v1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a", FieldPath: "spec.containers{main}"},
		v1.EventTypeNormal, "Started", "Container started")
	newest := log.last(1, func(object string) bool { return object == "pod/default/a/main" })
	require.Len(t, newest, 1)
	require.Contains(t, newest[0].String(), "Normal  pod/default/a/main Started: Container started")
	require.Empty(t, log.last(10, func(string) bool { return false }))
}

// Neither escapes nor marks that turn the direction of text reach a terminal.
func TestOneLineShowsTextAsItIsWritten(t *testing.T) {
	require.Equal(t, "a [2Jgnp.exe b c d", oneLine("\x07a\n\x1b[2J\u202egnp.exe\u2028b\u0085c\u2069\u200b\td\u009b"))
}

func TestOnlyTheNewestEventsAreKept(t *testing.T) {
	log := newEventLog(nil)
	for i := range keptEvents + 5 {
		log.add(v1.EventTypeNormal, "agent", "Count", fmt.Sprint(i))
	}
	kept := log.last(2*keptEvents, anyObject)
	require.Len(t, kept, keptEvents)
	require.Equal(t, "5", kept[0].Message)
	require.Equal(t, fmt.Sprint(keptEvents+4), kept[keptEvents-1].Message)
}

// A thousand events are kept, whatever others make them say.
func TestEventsAreShort(t *testing.T) {
	log := newEventLog(nil)
	log.add(v1.EventTypeWarning, "agent", "Long", strings.Repeat("ä", 1<<20))
	require.Less(t, len(log.last(1, anyObject)[0].Message), eventBytes+8)
	require.True(t, utf8.ValidString(log.last(1, anyObject)[0].Message))
}

func TestJSONIsOneList(t *testing.T) {
	var b bytes.Buffer
	node := newNode("n", "127.0.0.1", defaultCapacity())
	pod := podWith("a", ready())
	require.NoError(t, writeJSON(&b, node, []*v1.Pod{pod}))
	var list struct {
		Kind, APIVersion string
		Items            []struct{ Kind, APIVersion string }
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &list))
	require.Equal(t, "List", list.Kind)
	require.Equal(t, "Node", list.Items[0].Kind)
	require.Equal(t, "Pod", list.Items[1].Kind)
	require.Empty(t, pod.Kind, "the pod itself is not written to")
}

func TestJSONIsFitForTerminals(t *testing.T) {
	pod := podWith("a", ready())
	pod.Status.Message = "\x1b[2J\u009b31m\u202egnp\x7f\U000e0041 ä 漢"
	var b bytes.Buffer
	require.NoError(t, writeJSON(&b, newNode("n", "127.0.0.1", defaultCapacity()), []*v1.Pod{pod}))
	require.Contains(t, b.String(), `"\u001b[2J\u009b31m\u202egnp\u007f\udb40\udc41 ä 漢"`)
	var list struct{ Items []v1.Pod }
	require.NoError(t, json.Unmarshal(b.Bytes(), &list))
	require.Equal(t, pod.Status.Message, list.Items[1].Status.Message)
}

func TestCapacity(t *testing.T) {
	c := defaultCapacity()
	require.NoError(t, c.Set("cpu=4, pods=7"))
	require.Equal(t, "cpu=4,ephemeral-storage=10Gi,memory=4Gi,pods=7", c.String())
	for _, bad := range []string{"", "cpu", "=1", "cpu=much", "cpu=-1"} {
		require.Error(t, c.Set(bad), bad)
	}
}

func TestHealthOfEviction(t *testing.T) {
	grace := 5 * time.Minute
	slow := []eviction.Victim{{Pod: podWith("slow", ready()), Override: &grace}}
	for name, tc := range map[string]struct {
		health eviction.Health
		ok     bool
		detail string
	}{
		"new":       {eviction.Health{}, true, "no round yet"},
		"calm":      {eviction.Health{LastRound: noon, Observations: []eviction.Observation{{Signal: eviction.PIDAvailable, Available: 1, Capacity: 2}}}, true, "pid.available 1 of 2"},
		"no figure": {eviction.Health{Err: errors.New("no cgroup"), Failures: 3}, false, "no round yet"},
		"a round":   {eviction.Health{RoundSince: noon.Add(-30 * time.Second)}, true, "no round yet"},
		"stuck":     {eviction.Health{RoundSince: noon.Add(-2 * time.Minute)}, false, "a round has not ended since 2m"},
		"patient":   {eviction.Health{RoundSince: noon.Add(-4 * time.Minute), Evicting: slow}, true, "a round has not ended since 4m, evicts default/slow within 5m0s"},
		"too slow":  {eviction.Health{RoundSince: noon.Add(-7 * time.Minute), Evicting: slow}, false, "a round has not ended since 7m, evicts default/slow within 5m0s"},
	} {
		c := evictionHealth(tc.health, noon)
		require.Equal(t, tc.ok, c.OK, name)
		require.Equal(t, tc.detail, c.Detail, name)
	}
}

func TestTableIsCutToTheScreen(t *testing.T) {
	require.Equal(t, "head\na\nb\n", firstLines("head\na\nb\n", 3))
	require.Equal(t, "head\n… and 2 more: see nodeagent status\n", firstLines("head\na\nb\n", 2))
	require.Equal(t, "head\n… and 2 more: see nodeagent status\n", firstLines("head\na\nb\n", -5))
}

func TestLinesAreCutToTheScreen(t *testing.T) {
	require.Equal(t, "abc\nab…\n", cut("abc\nabcd\n", 3))
}
