package process

import (
	"strconv"
	"strings"

	"github.com/kubeparts/kubeparts/runtime"
)

// DefaultPath is the PATH of a container that is given none.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is the environment of a container, as "NAME=value".
func environ(cfg *runtime.ContainerConfig, home string) []string {
	given := make(map[string]bool, len(cfg.Env))
	env := make([]string, 0, len(cfg.Env)+len(cfg.Mounts)+2)
	add := func(name, value string) {
		given[name] = true
		env = append(env, name+"="+value)
	}
	for _, e := range cfg.Env {
		add(e.Name, e.Value)
	}
	if !given["PATH"] {
		add("PATH", DefaultPath)
	}
	if !given["HOME"] {
		add("HOME", home)
	}
	for _, e := range mountVars(cfg.Mounts) {
		if !given[e.Name] {
			add(e.Name, e.Value)
		}
	}
	return env
}

// mountVars are the variables by which a process finds its mounts.
func mountVars(mounts []runtime.Mount) []runtime.EnvVar {
	var vars []runtime.EnvVar
	paths := map[string][]string{} // of each variable's mounts
mounts:
	for _, m := range mounts {
		name := MountVar(m.Name)
		for _, path := range paths[name] {
			if path == m.HostPath {
				continue mounts
			}
		}
		paths[name] = append(paths[name], m.HostPath)
		if n := len(paths[name]); n > 1 {
			name += "_" + strconv.Itoa(n)
		}
		vars = append(vars, runtime.EnvVar{Name: name, Value: m.HostPath})
	}
	return vars
}

// MountVar is the name of the variable that holds the path of a volume.
func MountVar(volume string) string {
	return "KUBEPARTS_MOUNT_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, volume)
}
