package runtimetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

func TestScriptCommandRoundTrip(t *testing.T) {
	for _, s := range []runtimetest.Script{
		{},
		runtimetest.ExitsWith(-1),
		runtimetest.RunsFor(time.Minute, 3),
		{IgnoresTerm: true, StopAfter: time.Second, StopCode: 143, StartDelay: time.Hour},
		{StartError: errors.New("no such = device"), Output: "a=b\nc", Reason: "OOMKilled", Message: "too much"},
	} {
		got, err := runtimetest.ParseScript(s.Command())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
}

func TestParseScriptErrors(t *testing.T) {
	for command, want := range map[string][]string{
		"not a command of package runtimetest":                                 {"/bin/sh"},
		`script "exit=many": strconv.ParseInt: parsing "many": invalid syntax`: {"runtimetest", "exit=many"},
		`script "fly": unknown word`:                                           {"runtimetest", "fly"},
	} {
		_, err := runtimetest.ParseScript(want)
		require.EqualError(t, err, command)
	}
	_, err := runtimetest.ParseScript(nil)
	require.Error(t, err)
}

func FuzzParseScript(f *testing.F) {
	f.Add("exit=3", "run-for=1m0s")
	f.Add("ignore-term=true", "stop-after=-1s")
	f.Add("=", "print=a=b")
	f.Fuzz(func(t *testing.T, a, b string) {
		s, err := runtimetest.ParseScript([]string{"runtimetest", a, b})
		if err != nil {
			return
		}
		again, err := runtimetest.ParseScript(s.Command())
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}
