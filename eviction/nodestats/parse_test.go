package nodestats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseMemInfo(t *testing.T) {
	m, err := parseMemInfo([]byte("MemTotal: 100 kB\nMemFree: 40 kB\nInactive(file): 7 kB\nHugePages_Total: 0\n"))
	require.NoError(t, err)
	require.Equal(t, memInfo{total: 100 << 10, free: 40 << 10, inactiveFile: 7 << 10}, m)
	for _, bad := range []string{
		"", "MemTotal: 100 kB\n", "MemTotal: -1 kB\nMemFree: 1 kB\nInactive(file): 1 kB\n",
		"MemTotal: 1 kB\nMemFree: 2 kB\nInactive(file): 1 kB\n", "MemTotal: 99999999999999999999 kB\n",
		"MemTotal: 0 kB\nMemFree: 0 kB\nInactive(file): 0 kB\n",
	} {
		_, err := parseMemInfo([]byte(bad))
		require.ErrorIs(t, err, errFormat, "%q", bad)
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]uint64{"max\n": unlimited, "9223372036854771712\n": unlimited, "1073741824\n": 1 << 30, "0": 0} {
		got, err := parseLimit([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	_, err := parseLimit([]byte("-1"))
	require.ErrorIs(t, err, errFormat)
}

func TestParseOwnCgroup(t *testing.T) {
	text := []byte("8:pids:/a\n4:cpu,memory:/b:c\n0::/d\n")
	for controller, want := range map[string]string{"memory": "/b:c", "cpu": "/b:c", "pids": "/a", "": "/d"} {
		got, err := parseOwnCgroup(text, controller)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := parseOwnCgroup(text, "io")
	require.ErrorIs(t, err, errFormat)
}

func TestParsePressure(t *testing.T) {
	p, err := parsePressure([]byte("some avg10=0.12 avg60=3.00 avg300=100.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"))
	require.NoError(t, err)
	require.Equal(t, Pressure{Some: Stall{0.12, 3, 100, 1500 * time.Microsecond}}, p)
	for _, bad := range []string{"", "none", "some avg10=x", "some avg10=101", "some total=-1", "some avg10=NaN"} {
		_, err := parsePressure([]byte(bad))
		require.ErrorIs(t, err, errFormat, "%q", bad)
	}
}

func TestParseThreads(t *testing.T) {
	n, err := parseThreads([]byte("0.1 0.2 0.3 5/331 17922\n"))
	require.NoError(t, err)
	require.EqualValues(t, 331, n)
	for _, bad := range []string{"", "1 2 3 4", "1 2 3 5/x"} {
		_, err := parseThreads([]byte(bad))
		require.ErrorIs(t, err, errFormat)
	}
}

// FuzzParse: no text makes a parser panic, or give figures that can't be.
func FuzzParse(f *testing.F) {
	f.Add([]byte("MemTotal: 100 kB\nMemFree: 40 kB\nInactive(file): 7 kB\n"))
	f.Add([]byte("some avg10=0.12 avg60=3.00 avg300=100.00 total=1500\n"))
	f.Add([]byte("inactive_file 7\ntotal_inactive_file 1073741824\n"))
	f.Add([]byte("4:cpu,memory:/b:c\n0::/d\n"))
	f.Add([]byte("0.1 0.2 0.3 5/331 17922\n"))
	f.Add([]byte("max\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := parseMemInfo(text); err == nil {
			require.LessOrEqual(t, m.free, m.total)
			require.NotZero(t, m.total)
		}
		if n, err := parseThreads(text); err == nil {
			require.GreaterOrEqual(t, n, int64(0))
		}
		if p, err := parsePressure(text); err == nil {
			require.GreaterOrEqual(t, p.Some.Total, time.Duration(0))
			require.True(t, p.Full.Avg10 >= 0 && p.Full.Avg10 <= 100)
		}
		parseLimit(text)
		statField(text, "inactive_file")
		parseOwnCgroup(text, "memory")
	})
}
