//go:build unix

package process

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

const (
	someSandbox   = "0123456789abcdef01234567"
	someContainer = someSandbox + "-0123456789ab"
	someName      = "c-0123456789ab"
)

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		`{"ID":"` + someSandbox + `","UID":"u"}`: "",
		`{"ID":"` + someSandbox + `"}`:           "it has no pod UID",
		`{"ID":"another","UID":"u"}`:             `it is of sandbox "another"`,
		`{`:                                      "unexpected end of JSON input",
		`[]`:                                     "cannot unmarshal array",
	} {
		_, err := decodeSandbox(someSandbox, []byte(text))
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
	begin := `{"ID":"` + someContainer + `",`
	for text, want := range map[string]string{
		begin + `"Name":"n","State":"exited"}`:           "",
		begin + `"Name":"n","State":"running","PID":77}`: "",
		begin + `"Name":"n","State":"running"}`:          "0 is no process",
		begin + `"Name":"n","State":"running","PID":-1}`: "-1 is no process",
		begin + `"Name":"n","State":"running","PID":1}`:  "1 is no process",
		begin + `"Name":"n","State":"flying"}`:           `"flying" is no state`,
		begin + `"State":"exited"}`:                      "the container has no name",
		`{"ID":"../../x","Name":"n","State":"exited"}`:   `it is of container "../../x"`,
	} {
		_, err := decodeContainer(someSandbox, someName, []byte(text))
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
}

// FuzzState reads state files that hold anything. What is accepted is safe to
// act on, and means the same when it is written and read again.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"ID":"` + someSandbox + `","UID":"u","Attempt":3,"Labels":{"a":"b"}}`))
	f.Add([]byte(`{"ID":"` + someContainer + `","Name":"n","State":"running","PID":77,"Ticks":5,"Boot":"b"}`))
	f.Add([]byte(`{"ID":"` + someContainer + `","Name":"n","State":"exited","ExitCode":-1}`))
	f.Add([]byte(`{"CreatedAt":"not a time"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if rec, err := decodeSandbox(someSandbox, data); err == nil {
			require.Equal(t, someSandbox, rec.ID)
			again, err := json.Marshal(&rec)
			require.NoError(t, err)
			_, err = decodeSandbox(someSandbox, again)
			require.NoError(t, err)
		}
		rec, err := decodeContainer(someSandbox, someName, data)
		if err != nil {
			return
		}
		require.Equal(t, someContainer, rec.ID)
		again, err := json.Marshal(&rec)
		require.NoError(t, err)
		_, err = decodeContainer(someSandbox, someName, again)
		require.NoError(t, err)
		// Whatever it says, nothing is killed but what it may claim.
		procs := []keeper.Process{{PID: 1}, {PID: 2, Parent: 1, Session: 2, Ticks: 99}, {PID: 3, Parent: 1, Session: 3, Ticks: rec.Ticks}}
		for _, pid := range leftovers(procs, someSandbox, []keeper.Container{rec}, "boot", func(int) string { return "" }) {
			require.Equal(t, rec.PID, pid)
			require.NotEqual(t, 1, pid)
		}
	})
}

// What a dead keeper left is told from processes that have a number by chance.
func TestLeftovers(t *testing.T) {
	record := keeper.Container{ID: someContainer, State: keeper.Running, PID: 100, Ticks: 5, Boot: "boot"}
	marked := func(pids ...int) func(int) string {
		return func(pid int) string {
			for _, p := range pids {
				if p == pid {
					return someContainer
				}
			}
			return "fedcba9876543210fedcba98-000000000000"
		}
	}
	base := []keeper.Process{{PID: 1, Session: 1}, {PID: 50, Parent: 1, Session: 50, Ticks: 1}}
	for name, tc := range map[string]struct {
		procs  []keeper.Process
		marker func(int) string
		boot   string
		want   []int
	}{
		"the first process and its children": {
			procs: []keeper.Process{{PID: 100, Parent: 1, Session: 100, Ticks: 5}, {PID: 101, Parent: 100, Session: 101, Ticks: 6}},
			want:  []int{100, 101},
		},
		"its session": {
			procs: []keeper.Process{{PID: 100, Parent: 1, Session: 100, Ticks: 5}, {PID: 101, Parent: 1, Session: 100, Ticks: 6}},
			want:  []int{100, 101},
		},
		"the number was given to another": {
			procs: []keeper.Process{{PID: 100, Parent: 1, Session: 100, Ticks: 7}, {PID: 101, Parent: 100, Session: 100, Ticks: 8}},
		},
		"the machine was restarted": {
			procs: []keeper.Process{{PID: 100, Parent: 1, Session: 100, Ticks: 5}},
			boot:  "another",
		},
		"marked, the first process is gone": {
			procs:  []keeper.Process{{PID: 200, Parent: 1, Session: 200, Ticks: 7}, {PID: 201, Parent: 200, Session: 200, Ticks: 8}},
			marker: marked(200),
			want:   []int{200, 201},
		},
		"dead already": {
			procs: []keeper.Process{{PID: 100, Parent: 1, Session: 100, Ticks: 5, Zombie: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.marker == nil {
				tc.marker = marked()
			}
			if tc.boot == "" {
				tc.boot = "boot"
			}
			require.Equal(t, tc.want, leftovers(append(base, tc.procs...), someSandbox, []keeper.Container{record}, tc.boot, tc.marker))
		})
	}
}

func TestSignalNumber(t *testing.T) {
	for name, want := range map[string]int{"": 15, "SIGTERM": 15, "SIGKILL": 9, "SIGHUP": 1} {
		number, ok := signalNumber(name)
		require.True(t, ok, name)
		require.Equal(t, want, number, name)
	}
	for _, name := range []string{"TERM", "SIGFOO", "9", "SIGRTMIN+99", "SIGRTMIN-1", "SIGRTMAXx"} {
		_, ok := signalNumber(name)
		require.False(t, ok, name)
	}
}
