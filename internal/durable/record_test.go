package durable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode: what reads as a record is what writing it gives.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte(header(nil)))
	f.Add([]byte(header([]byte("data")) + "data"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if data, err := decode(raw); err == nil {
			require.Equal(t, string(raw), header(data)+string(data))
		}
	})
}

func FuzzParseBatch(f *testing.F) {
	whole := pack([]entry{{name: "a", data: []byte("{}")}, {name: "b"}, {name: "c", data: []byte("two\nlines")}})
	f.Add([]byte(header(whole) + string(whole)))
	f.Add(whole[3:])
	f.Add([]byte("00000000 99999999999999999999 a\n"))
	f.Add([]byte("00000000 -1 a\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, _ := parseBatch(raw)
		for _, e := range entries {
			require.NoError(t, checkName(e.name))
		}
		data := pack(entries)
		again, err := parseBatch([]byte(header(data) + string(data)))
		require.NoError(t, err)
		require.Equal(t, entries, again)
	})
}
