package podruntime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// layout knows where under the root the things of a pod are. Every name that
// becomes a path element is checked, although validation has seen it before: a
// pod must not reach outside of its folder by what it is called.
type layout struct{ root string }

// element refuses names that are no single, plain path element.
func element(what, name string) error {
	switch {
	case name == "", name == ".", name == "..":
	case len(name) > 255:
	case strings.ContainsAny(name, "/\\\x00"):
	default:
		return nil
	}
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return fmt.Errorf("%s %q can't name a file", what, name)
}

// check refuses a pod whose names can't be path elements.
func (l layout) check(ref runtime.PodRef) error {
	if err := element("pod UID", string(ref.UID)); err != nil {
		return err
	}
	if err := element("namespace", ref.Namespace); err != nil {
		return err
	}
	if err := element("pod name", ref.Name); err != nil {
		return err
	}
	return element("log folder", logDirName(ref))
}

func (l layout) podsDir() string { return filepath.Join(l.root, "pods") }
func (l layout) logsDir() string { return filepath.Join(l.root, "logs") }

func (l layout) podDir(uid types.UID) string { return filepath.Join(l.podsDir(), string(uid)) }

func (l layout) volumesDir(uid types.UID) string { return filepath.Join(l.podDir(uid), "volumes") }

// secretsDir holds the volumes with secrets.
func (l layout) secretsDir(uid types.UID) string { return filepath.Join(l.podDir(uid), "secrets") }

func (l layout) messageDir(uid types.UID, container string) string {
	return filepath.Join(l.podDir(uid), "containers", container)
}

// messageName is the termination message of one instance. It is made of the
// attempt alone, so that it is found again after a restart of the agent.
func messageName(attempt uint32) string { return fmt.Sprintf("%d.message", attempt) }

func (l layout) podLogDir(ref runtime.PodRef) string {
	return filepath.Join(l.logsDir(), logDirName(ref))
}

func (l layout) containerLogDir(ref runtime.PodRef, container string) string {
	return filepath.Join(l.podLogDir(ref), container)
}

func logName(attempt uint32) string { return fmt.Sprintf("%d.log", attempt) }

func logDirName(ref runtime.PodRef) string {
	return ref.Namespace + "_" + ref.Name + "_" + string(ref.UID)
}

// parseLogDirName undoes logDirName. Namespaces and pod names hold no
// underscore; what does not have three parts is not one of our folders.
func parseLogDirName(name string) (runtime.PodRef, bool) {
	parts := strings.SplitN(name, "_", 3)
	if len(parts) != 3 || parts[2] == "" {
		return runtime.PodRef{}, false
	}
	return runtime.PodRef{Namespace: parts[0], Name: parts[1], UID: types.UID(parts[2])}, true
}

// folders lists the pods that have a folder or a log folder, with what is
// known of their names. A root that is not there yet holds none.
func (l layout) folders() (map[types.UID]runtime.PodRef, error) {
	found := make(map[types.UID]runtime.PodRef)
	pods, err := readDir(l.podsDir())
	if err != nil {
		return nil, err
	}
	for _, e := range pods {
		if e.IsDir() {
			uid := types.UID(e.Name())
			found[uid] = runtime.PodRef{UID: uid}
		}
	}
	logs, err := readDir(l.logsDir())
	if err != nil {
		return nil, err
	}
	for _, e := range logs {
		if ref, ok := parseLogDirName(e.Name()); ok && e.IsDir() {
			found[ref.UID] = ref
		}
	}
	return found, nil
}

// makeDir makes a folder of a pod. The users of containers pass through the folder
// above, but only who knows a pod's UID finds it.
func (l layout) makeDir(dir string) error {
	if err := os.MkdirAll(l.podsDir(), 0o711); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// readDir is os.ReadDir, for which a folder that is missing is empty.
func readDir(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return entries, err
}
