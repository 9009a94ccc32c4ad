package podruntime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// volumeError is about one volume of a pod.
type volumeError struct {
	volume string
	err    error
}

func (e *volumeError) Error() string {
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", e.volume, e.err)
}

func (e *volumeError) Unwrap() error { return e.err }

// volume is what the mounts of a volume show.
type volume struct {
	path string // on the host
	// filled: the agent fills it, and its containers only read it.
	filled bool
}

// makeVolumes makes or checks every volume that some container of the pod
// mounts, and returns them by name. It is repeated before each start: what the
// agent fills is brought up to date, and nothing else that is there changes. A
// volume that no one mounts is not looked at, whatever its kind.
func (l layout) makeVolumes(facts podFacts) (map[string]volume, error) {
	used := mountedVolumes(facts.pod)
	volumes := make(map[string]volume, len(used))
	for i := range facts.pod.Spec.Volumes {
		v := &facts.pod.Spec.Volumes[i]
		if !used[v.Name] {
			continue
		}
		path, err := l.makeVolume(facts, v)
		if err != nil {
			return nil, &volumeError{volume: v.Name, err: err}
		}
		volumes[v.Name] = volume{path: path, filled: isFilled(&v.VolumeSource)}
	}
	return volumes, nil
}

func mountedVolumes(pod *v1.Pod) map[string]bool {
	used := make(map[string]bool)
	for c := range containersOf(pod) {
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
		}
	}
	return used
}

func (l layout) makeVolume(facts podFacts, v *v1.Volume) (string, error) {
	switch {
	case isFilled(&v.VolumeSource):
		return l.makeFilled(facts, v)
	case v.EmptyDir != nil:
		return l.makeEmptyDir(facts.pod, v.Name)
	case v.HostPath != nil:
		return v.HostPath.Path, checkHostPath(v.HostPath)
	}
	return "", fmt.Errorf("volumes of kind %s are not supported", volumeKind(v))
}

// volumeKind is the name of a volume's kind in the API. A volume without any
// source is an emptyDir by the API's defaults; here it is still unknown.
func volumeKind(v *v1.Volume) string {
	src := reflect.ValueOf(v.VolumeSource)
	for i := range src.NumField() {
		if !src.Field(i).IsNil() {
			name, _, _ := strings.Cut(src.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "unknown"
}

// makeEmptyDir makes the folder of an emptyDir, which every user of a container
// may write to. With an fsGroup it belongs to that group, and so does what is
// made in it. The folder is on the disk of the root, whatever medium it asks for.
func (l layout) makeEmptyDir(pod *v1.Pod, name string) (string, error) {
	if err := element("volume", name); err != nil {
		return "", err
	}
	dir := filepath.Join(l.volumesDir(pod.UID), name)
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		return dir, nil
	}
	if err := l.makeDir(filepath.Dir(dir)); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	mode := os.FileMode(0o777)
	if sc := pod.Spec.SecurityContext; sc != nil && sc.FSGroup != nil {
		if err := os.Chown(dir, -1, int(*sc.FSGroup)); err != nil {
			return "", errors.Join(fmt.Errorf("fsGroup %d: %w", *sc.FSGroup, err), os.Remove(dir))
		}
		mode |= os.ModeSetgid
	}
	// The umask took its share from Mkdir.
	return dir, os.Chmod(dir, mode)
}

// checkHostPath makes or checks what a hostPath volume names, as its type asks.
// Without a type nothing is asked.
func checkHostPath(src *v1.HostPathVolumeSource) error {
	if !filepath.IsAbs(src.Path) {
		return fmt.Errorf("hostPath %q is not an absolute path", src.Path)
	}
	if src.Type == nil {
		return nil
	}
	switch *src.Type {
	case v1.HostPathDirectoryOrCreate:
		if err := os.MkdirAll(src.Path, 0o755); err != nil {
			return fmt.Errorf("hostPath type check failed: %w", err)
		}
	case v1.HostPathFileOrCreate:
		if err := createFile(src.Path, 0o644); err != nil {
			return fmt.Errorf("hostPath type check failed: %w", err)
		}
	}
	return checkHostPathType(src.Path, *src.Type)
}

func checkHostPathType(path string, kind v1.HostPathType) error {
	if kind == v1.HostPathUnset {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("hostPath type check failed: %w", err)
	}
	mode := info.Mode()
	var ok bool
	var want string
	switch kind {
	case v1.HostPathDirectory, v1.HostPathDirectoryOrCreate:
		ok, want = mode.IsDir(), "a directory"
	case v1.HostPathFile, v1.HostPathFileOrCreate:
		ok, want = mode.IsRegular(), "a file"
	case v1.HostPathSocket:
		ok, want = mode&fs.ModeSocket != 0, "a socket"
	case v1.HostPathCharDev:
		ok, want = mode&fs.ModeCharDevice != 0, "a character device"
	case v1.HostPathBlockDev:
		ok, want = mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0, "a block device"
	default:
		return fmt.Errorf("hostPath type %q is not supported", kind)
	}
	if !ok {
		return fmt.Errorf("hostPath type check failed: %s is not %s", path, want)
	}
	return nil
}

// createFile makes an empty file unless something of that name is there.
func createFile(path string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// mountsOf resolves the mounts of a container; env is its own environment.
func mountsOf(c *v1.Container, volumes map[string]volume, env *environment) ([]runtime.Mount, error) {
	var mounts []runtime.Mount
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		v, ok := volumes[m.Name]
		if !ok {
			return nil, fmt.Errorf("volumeMounts[%d]: the pod has no volume %q", i, m.Name)
		}
		hostPath := v.path
		sub, err := subPathOf(m, env)
		if err == nil && sub != "" {
			if v.filled {
				hostPath, err = pinLocal(v.path, sub, fmt.Sprintf("%s-%d", c.Name, i))
			} else {
				hostPath, err = within(v.path, sub)
			}
			if err != nil {
				// By its spelling in the spec: a variable in it may be a secret.
				err = fmt.Errorf("subPath %q: %w", m.SubPath+m.SubPathExpr, err)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("volumeMounts[%d] of volume %q: %w", i, m.Name, err)
		}
		containerPath := m.MountPath
		if !strings.HasPrefix(containerPath, "/") && !filepath.IsAbs(containerPath) {
			containerPath = "/" + containerPath
		}
		mounts = append(mounts, runtime.Mount{
			Name: m.Name, HostPath: hostPath, ContainerPath: containerPath, ReadOnly: m.ReadOnly || v.filled,
		})
	}
	return mounts, nil
}

// subPathOf returns the path inside the volume that a mount shows; "" for all.
// An expression must not refer to what is missing or empty.
func subPathOf(m *v1.VolumeMount, env *environment) (string, error) {
	if m.SubPathExpr == "" {
		return m.SubPath, nil
	}
	var missing []string
	tooLong := false
	path := runtime.Expand(m.SubPathExpr, func(name string) (string, bool) {
		value, _ := env.lookup(name)
		if value == "" {
			missing = append(missing, name)
		}
		if tooLong = tooLong || env.spend(value) != nil; tooLong {
			return "", true
		}
		return value, true
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("subPathExpr: missing value for %s", strings.Join(missing, ", "))
	}
	if tooLong {
		return "", fmt.Errorf("subPathExpr: %w", runtime.ErrExpanded)
	}
	return path, nil
}

// within returns the host path of a subPath, which is made, as a folder, if it
// is not there. It must not lead out of the volume, neither by its spelling nor
// by a symbolic link that a container left there.
//
// The answer is true when it is given. A backend whose containers can change a
// volume between this and the mount, and whose containers must not see the
// host, has to resolve the path again when it mounts.
//
// Errors do not repeat the path.
func within(volume, sub string) (string, error) {
	if !filepath.IsLocal(sub) {
		return "", errLeadsOut
	}
	real, err := filepath.EvalSymlinks(volume)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return "", err
	}
	defer root.Close()
	_, err = root.Stat(sub)
	if errors.Is(err, fs.ErrNotExist) {
		err = root.MkdirAll(sub, 0o755)
	}
	if err != nil {
		return "", withoutPath(err)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(real, sub))
	if err != nil {
		return "", withoutPath(err)
	}
	if rel, err := filepath.Rel(real, path); err != nil || !filepath.IsLocal(rel) {
		return "", errLeadsOut
	}
	return path, nil
}

var errLeadsOut = errors.New("it leads out of the volume")

// withoutPath is an error of the file system without the path that it names.
func withoutPath(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
