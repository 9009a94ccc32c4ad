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
