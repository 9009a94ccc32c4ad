//go:build unix

package keeper

// Process is one process of the machine.
type Process struct {
	PID, Parent, Session int
	Ticks                uint64 // start time, in clock ticks since boot
	Zombie               bool
	CPU                  uint64 // time used, its reaped children's included, in clock ticks
	Threads              uint64
}

// Owners tells for every descendant of the keeper whom it belongs to; "" is for
// one that nobody can claim.
//
// A process belongs to whom its parent belongs to. One whose parent ended is
// the keeper's child, and is known by its session, and when it left that too,
// by the marker in its environment.
func Owners(procs []Process, keeper int, roots, sessions map[int]string, marker func(pid int) string) map[int]string {
	children := make(map[int][]Process, len(procs))
	for _, p := range procs {
		children[p.Parent] = append(children[p.Parent], p)
	}
	owners := map[int]string{}
	var claim func(parent int, owner string)
	claim = func(parent int, owner string) {
		for _, p := range children[parent] {
			if _, seen := owners[p.PID]; seen {
				continue // a list that was read while it changed may hold loops
			}
			owners[p.PID] = owner
			claim(p.PID, owner)
		}
	}
	for _, p := range children[keeper] {
		owner, ok := roots[p.PID]
		if !ok {
			owner, ok = sessions[p.Session]
		}
		if !ok && !p.Zombie {
			owner = marker(p.PID)
		}
		owners[p.PID] = owner
		claim(p.PID, owner)
	}
	return owners
}
