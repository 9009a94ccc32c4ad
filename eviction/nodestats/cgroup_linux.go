package nodestats

import (
	"os"
	"path/filepath"
	"strings"
)

// cgroup is where the figures of a cgroup are. Of version 2 both folders are one.
type cgroup struct {
	v2   bool
	root bool // the machine's, which of version 2 has no usage of its own
	// memory and pids are the folders of the controllers, "" where there is
	// none.
	memory, pids string
}

// memoryUsage is what a cgroup uses, in bytes.
type memoryUsage struct {
	usage, inactiveFile, limit uint64
}

// findCgroup looks for the cgroup that is the node.
func findCgroup(cfg Config, memTotal uint64) cgroup {
	g := topCgroup(cfg)
	if cfg.Cgroup != "" {
		return g.at(cfg, cfg.Cgroup)
	}
	if g.memory == "" {
		return g
	}
	controller := "memory"
	if g.v2 {
		controller = ""
	}
	own, err := readFile(filepath.Join(cfg.ProcDir, "self/cgroup"), func(text []byte) (string, error) {
		return parseOwnCgroup(text, controller)
	})
	if err != nil {
		return g
	}
	tightest, least := g, memTotal
	for path := filepath.Clean("/" + own); path != "/"; path = filepath.Dir(path) {
		below := g.at(cfg, strings.TrimPrefix(path, "/"))
		if limit, err := below.limit(); err == nil && limit < least {
			tightest, least = below, limit
		}
	}
	if limit, err := g.limit(); err == nil && limit <= least {
		tightest = g
	}
	return tightest
}

// topCgroup is the uppermost cgroup that can be seen: the machine's, or in a
// container that of the container.
func topCgroup(cfg Config) cgroup {
	if exists(filepath.Join(cfg.CgroupDir, "cgroup.controllers")) {
		return cgroup{
			v2: true, root: !exists(filepath.Join(cfg.CgroupDir, "memory.current")),
			memory: cfg.CgroupDir, pids: cfg.CgroupDir,
		}
	}
	g := cgroup{memory: filepath.Join(cfg.CgroupDir, "memory"), pids: filepath.Join(cfg.CgroupDir, "pids")}
	if !exists(filepath.Join(g.memory, "memory.usage_in_bytes")) {
		g.memory = ""
	}
	return g
}

// at is a cgroup by its path.
func (g cgroup) at(cfg Config, path string) cgroup {
	top := topCgroup(cfg)
	below := cgroup{v2: top.v2, memory: path, pids: path}
	if rel, ok := strings.CutPrefix(path, cfg.CgroupDir); ok {
		path = rel
	} else if filepath.IsAbs(path) {
		return below
	}
	below.memory, below.pids = filepath.Join(top.memory, path), filepath.Join(top.pids, path)
	return below
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (g cgroup) limit() (uint64, error) {
	if g.v2 {
		return readFile(filepath.Join(g.memory, "memory.max"), parseLimit)
	}
	return readFile(filepath.Join(g.memory, "memory.limit_in_bytes"), parseLimit)
}

// usage reads what the cgroup uses. The machine's of version 2 has no usage of
// its own, nor has a machine without cgroups: it is the memory that is not free.
func (g cgroup) usage(info memInfo) (memoryUsage, error) {
	if g.memory == "" || g.v2 && g.root {
		return memoryUsage{usage: info.total - info.free, inactiveFile: info.inactiveFile, limit: unlimited}, nil
	}
	current, inactive := "memory.usage_in_bytes", "total_inactive_file"
	if g.v2 {
		current, inactive = "memory.current", "inactive_file"
	}
	limit, err := g.limit()
	if err != nil {
		return memoryUsage{}, err
	}
	usage, err := readFile(filepath.Join(g.memory, current), number)
	if err != nil {
		return memoryUsage{}, err
	}
	file, err := readFile(filepath.Join(g.memory, "memory.stat"), func(text []byte) (uint64, error) { return statField(text, inactive) })
	return memoryUsage{usage: usage, inactiveFile: file, limit: limit}, err
}

// processes reads how many the cgroup may have and has. It is not ok where it
// has no limit.
func (g cgroup) processes() (limit, current int64, ok bool) {
	most, err := readFile(filepath.Join(g.pids, "pids.max"), parseLimit)
	if g.pids == "" || err != nil || most == unlimited {
		return 0, 0, false
	}
	current, err = readFile(filepath.Join(g.pids, "pids.current"), count)
	return int64(min(most, v1Unlimited)), current, err == nil
}
