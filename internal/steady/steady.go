// Package steady brings a benchmark to where a program is that has run for a
// while: the memory that it is handed out was used before. What a heap of 100,000
// pods costs while it grows, page by page, would be measured otherwise.
package steady

import "runtime"

// Reach repeats the step until the collector has gone round twice.
func Reach(step func()) {
	until := rounds() + 2
	for n := 1; rounds() < until; n *= 2 {
		for range n {
			step()
		}
	}
}

func rounds() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}
