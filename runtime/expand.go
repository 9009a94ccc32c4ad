package runtime

import (
	"fmt"
	"strings"
)

// MaxExpanded bounds, in bytes, what all references of one container may come to,
// and those of one command of a probe. It is more than any kernel takes as arguments
// and environment of a process; forty variables, each twice the one before, would be
// more than any machine has.
const MaxExpanded = 8 << 20

// ErrExpanded says that references came to more than that.
var ErrExpanded = fmt.Errorf("references of the container expand to more than %d MiB", MaxExpanded>>20)

// Expand replaces each $(NAME) in s by the value that lookup gives. A name that
// it does not know stays as written, as does a "$(" without its end; "$$" stands
// for "$", so that "$$(NAME)" gives "$(NAME)". What was put in is not expanded
// again. It is the grammar of a container's command, args and env. What comes out is
// as long as the values make it: lookup bounds that, see [MaxExpanded].
func Expand(s string, lookup func(name string) (value string, ok bool)) string {
	dollar := strings.IndexByte(s, '$')
	if dollar < 0 {
		return s
	}
	var out strings.Builder
	for ; dollar >= 0; dollar = strings.IndexByte(s, '$') {
		out.WriteString(s[:dollar])
		var text string
		text, s = expandOne(s[dollar:], lookup)
		out.WriteString(text)
	}
	out.WriteString(s)
	return out.String()
}

// expandOne expands what s, which begins with "$", begins with, and returns that
// and what is left of s.
func expandOne(s string, lookup func(string) (string, bool)) (text, rest string) {
	switch {
	case strings.HasPrefix(s, "$$"):
		return "$", s[2:]
	case !strings.HasPrefix(s, "$("):
		return "$", s[1:]
	}
	end := strings.IndexByte(s, ')')
	if end < 0 { // nothing behind it is a reference either
		return strings.ReplaceAll(s, "$$", "$"), ""
	}
	if value, ok := lookup(s[2:end]); ok {
		return value, s[end+1:]
	}
	return s[:end+1], s[end+1:]
}
