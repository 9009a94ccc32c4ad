package process

import (
	"strconv"
	"strings"
)

// realtimeSignal knows RTMIN, RTMIN+n, RTMAX-n and RTMAX, counted as C programs
// count them.
func realtimeSignal(name string) (int, bool) {
	const first, last = 34, 64
	offset := func(text string) int {
		if text == "" {
			return 0
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return last
		}
		return n
	}
	number := 0
	if rest, ok := strings.CutPrefix(name, "RTMIN"); ok {
		number = first + offset(rest)
	} else if rest, ok := strings.CutPrefix(name, "RTMAX"); ok {
		number = last + offset(rest)
	}
	return number, number >= first && number <= last
}
