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
// UTF-8, and what is over 1 KiB is cut.
func Printable(s string) string {
	cut := len(s) > messageLimit
	if cut {
		s = s[:messageLimit]
		for i := 0; i < utf8.UTFMax && len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]); i++ {
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
				break
			}
			s = s[:len(s)-1]
		}
	}
	if strings.IndexFunc(s, unprintable) >= 0 {
		s = escape(s)
	}
	if cut {
		s += "..."
	}
	return s
}

func unprintable(r rune) bool {
	return r == utf8.RuneError || r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

func escape(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteString(`\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case unprintable(r) && r != utf8.RuneError:
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteString(s[:size])
		}
		s = s[size:]
	}
	return out.String()
}

// clip cuts a container's answer to what is kept of it.
func clip(s string) string {
	if len(s) > OutputLimit {
		return s[:OutputLimit]
	}
	return s
}
