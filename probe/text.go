package probe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// messageLimit is how many bytes of a container's text an event carries.
const messageLimit = 1 << 10

// Printable makes what a container said fit for events and terminals: control
// characters but tabs and ends of lines are escaped, as are bytes that are no
// UTF-8, and what is over 1 KiB then is cut.
func Printable(s string) string {
	if len(s) <= messageLimit && strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		piece := s[:size]
		switch {
		case r == utf8.RuneError && size == 1:
			piece = `\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:]
		case r != utf8.RuneError && unprintable(r):
			quoted := strconv.QuoteRuneToASCII(r)
			piece = quoted[1 : len(quoted)-1]
		}
		if out.Len()+len(piece) > messageLimit {
			return out.String() + "..."
		}
		out.WriteString(piece)
		s = s[size:]
	}
	return out.String()
}

func unprintable(r rune) bool {
	return r == utf8.RuneError || r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// clip cuts a container's answer to what is kept of it; the rest is not held on to.
func clip(s string) string {
	if len(s) > OutputLimit {
		return strings.Clone(s[:OutputLimit])
	}
	return s
}
