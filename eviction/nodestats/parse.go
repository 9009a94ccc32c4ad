package nodestats

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// errFormat is wrapped by errors about text that is not what the kernel writes.
var errFormat = errors.New("unexpected format")

// fields calls f with the words of each line.
func fields(text []byte, f func(words [][]byte) error) error {
	for line := range bytes.Lines(text) {
		if words := bytes.Fields(line); len(words) > 0 {
			if err := f(words); err != nil {
				return err
			}
		}
	}
	return nil
}

// statField finds the number behind a name, as memory.stat of a cgroup has it,
// in bytes.
func statField(text []byte, name string) (uint64, error) {
	var value uint64
	found := false
	err := fields(text, func(words [][]byte) (err error) {
		if found || len(words) != 2 || string(words[0]) != name {
			return nil
		}
		found = true
		value, err = number(words[1])
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: no %s", errFormat, name)
	}
	return value, err
}

// memInfo is what of /proc/meminfo is of use, in bytes.
type memInfo struct {
	total, free, inactiveFile uint64
}

// parseMemInfo reads /proc/meminfo, whose numbers are in KiB.
func parseMemInfo(text []byte) (memInfo, error) {
	var m memInfo
	var seen int
	into := map[string]*uint64{"MemTotal:": &m.total, "MemFree:": &m.free, "Inactive(file):": &m.inactiveFile}
	err := fields(text, func(words [][]byte) error {
		to := into[string(words[0])]
		if to == nil || len(words) < 2 {
			return nil
		}
		kib, err := number(words[1])
		if err != nil {
			return err
		}
		if kib > math.MaxUint64>>10 {
			return fmt.Errorf("%w: %s %d kB", errFormat, words[0], kib)
		}
		*to = kib << 10
		seen++
		return nil
	})
	switch {
	case err != nil:
		return m, err
	case seen < len(into) || m.total == 0 || m.free > m.total:
		return m, fmt.Errorf("%w: memory of %d, %d free", errFormat, m.total, m.free)
	}
	return m, nil
}

// unlimited is a cgroup's limit that is none.
const unlimited = math.MaxUint64

// v1Unlimited is from where on a limit of cgroup v1 means none: the kernel
// rounds its largest number down to whole pages.
const v1Unlimited = math.MaxInt64 &^ (1<<20 - 1)

// parseLimit reads a limit: a number, or "max".
func parseLimit(text []byte) (uint64, error) {
	text = bytes.TrimSpace(text)
	if string(text) == "max" {
		return unlimited, nil
	}
	n, err := number(text)
	if err == nil && n >= v1Unlimited {
		n = unlimited
	}
	return n, err
}

// parseThreads reads the number of threads from /proc/loadavg, as in
// "0.1 0.2 0.3 5/331 17922".
func parseThreads(text []byte) (int64, error) {
	words := bytes.Fields(text)
	if len(words) < 4 {
		return 0, fmt.Errorf("%w: %q", errFormat, text)
	}
	_, all, ok := bytes.Cut(words[3], []byte("/"))
	if !ok {
		return 0, fmt.Errorf("%w: %q", errFormat, text)
	}
	return count(all)
}

// parseOwnCgroup finds the path of a process's cgroup of a controller in
// /proc/self/cgroup; "" is that of version 2.
func parseOwnCgroup(text []byte, controller string) (string, error) {
	for line := range bytes.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			if name == controller {
				return parts[2], nil
			}
		}
	}
	return "", fmt.Errorf("%w: no cgroup of controller %q", errFormat, controller)
}

// Pressure is what the kernel tells of waiting for a resource (PSI).
type Pressure struct {
	// Some is when at least one task waited, Full when all did. The machine's
	// cpu has no Full.
	Some, Full Stall
}

// Stall is how much of the time was spent waiting.
type Stall struct {
	// Avg10, Avg60 and Avg300 are percentages over so many seconds.
	Avg10, Avg60, Avg300 float64
	// Total is the time waited since the start.
	Total time.Duration
}

// parsePressure reads a file of /proc/pressure, or a cgroup's.
func parsePressure(text []byte) (Pressure, error) {
	var p Pressure
	seen := false
	err := fields(text, func(words [][]byte) error {
		to := map[string]*Stall{"some": &p.Some, "full": &p.Full}[string(words[0])]
		if to == nil {
			return nil
		}
		seen = true
		for _, w := range words[1:] {
			if err := to.set(string(w)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !seen {
		err = fmt.Errorf("%w: no pressure in %q", errFormat, text)
	}
	return p, err
}

func (s *Stall) set(pair string) error {
	name, value, _ := strings.Cut(pair, "=")
	if name == "total" {
		micros, err := strconv.ParseInt(value, 10, 64)
		if err != nil || micros < 0 || micros > math.MaxInt64/int64(time.Microsecond) {
			return fmt.Errorf("%w: %q", errFormat, pair)
		}
		s.Total = time.Duration(micros) * time.Microsecond
		return nil
	}
	to := map[string]*float64{"avg10": &s.Avg10, "avg60": &s.Avg60, "avg300": &s.Avg300}[name]
	if to == nil {
		return nil
	}
	percent, err := strconv.ParseFloat(value, 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return fmt.Errorf("%w: %q", errFormat, pair)
	}
	*to = percent
	return nil
}

func number(text []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is no number", errFormat, text)
	}
	return n, nil
}

func count(text []byte) (int64, error) {
	n, err := number(text)
	if err == nil && n > math.MaxInt64 {
		err = fmt.Errorf("%w: %d", errFormat, n)
	}
	return int64(n), err
}
