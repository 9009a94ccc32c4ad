// Package steady brings a benchmark to where a program is that has run for a
// while: the memory that it is handed out was used before. What a heap of 100,000
// pods costs while it grows, page by page, would be measured otherwise.
package steady

import "runtime"

// Reach repeats the step until the collector has gone round twice.
func Reach(step func()) {
	for until := rounds() + 2; rounds() < until; {
		for range 1000 {
			step()
		}
	}
}

func rounds() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}
