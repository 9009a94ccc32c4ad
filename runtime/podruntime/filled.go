package podruntime

import (
	"errors"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// makeFilled makes a volume that the agent fills, or brings it up to date.
func (l layout) makeFilled(facts podFacts, v *v1.Volume) (string, error) {
	if err := element("volume", v.Name); err != nil {
		return "", err
	}
	p, err := facts.payloadOf(&v.VolumeSource)
	if err != nil {
		return "", err
	}
	parent := l.volumesDir(facts.pod.UID)
	if holdsSecret(&v.VolumeSource) {
		parent, err = l.makeSecretsDir(facts)
	} else {
		err = l.makeDir(parent)
	}
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, v.Name)
	if err := makeOpen(dir); err != nil {
		return "", err
	}
	group := -1
	if sc := facts.pod.Spec.SecurityContext; sc != nil && sc.FSGroup != nil {
		group = int(*sc.FSGroup)
	}
	return dir, fill(dir, p, group)
}

// makeSecretsDir makes the folder of the pod's volumes with secrets: in memory
// where the agent may mount that. Where containers see the host's files, it is
// closed to all users but the pod's; a pod of several users keeps it closed to
// those who don't know the names of its volumes.
func (l layout) makeSecretsDir(facts podFacts) (string, error) {
	dir := l.secretsDir(facts.pod.UID)
	if err := l.makeDir(filepath.Dir(dir)); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	_ = mountMemory(dir) // a folder on disk otherwise, as documented
	if !facts.sharedFiles {
		return dir, os.Chmod(dir, 0o755)
	}
	user, one := userOf(facts.pod)
	if !one {
		return dir, os.Chmod(dir, 0o711)
	}
	if user != os.Geteuid() {
		if err := os.Chown(dir, user, -1); err != nil {
			return "", err
		}
	}
	return dir, os.Chmod(dir, 0o700)
}

// userOf is the user that all containers of the pod run as, and whether there is
// one; that of the agent where nothing is said.
func userOf(pod *v1.Pod) (user int, one bool) {
	user = -1
	for c := range containersOf(pod) {
		u := os.Geteuid()
		if sc := runtime.SecurityContext(pod, c); sc.RunAsUser != nil {
			u = int(*sc.RunAsUser)
		}
		if user >= 0 && u != user {
			return 0, false
		}
		user = u
	}
	return user, true
}

// makeOpen makes a folder that all may read who may pass what is above it. What
// is above may be the pod's user's, who can put a link in the folder's place: the
// link goes, and what it leads to is left alone.
func makeOpen(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(dir)
	if info, err := parent.Lstat(name); err == nil && !info.IsDir() {
		if err := parent.Remove(name); err != nil {
			return err
		}
	}
	if err := parent.Mkdir(name, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	return parent.Chmod(name, 0o755)
}

// openVolume opens the folder of a volume, and never what lies outside of the
// folder above it.
func openVolume(dir string) (*os.Root, error) {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return parent.OpenRoot(filepath.Base(dir))
}

// pinLocal is pin for a subPath, which must not lead out of the volume.
func pinLocal(dir, sub, holder string) (string, error) {
	if !filepath.IsLocal(sub) {
		return "", errLeadsOut
	}
	return pin(dir, filepath.ToSlash(filepath.Clean(sub)), holder)
}

// removeVolumes removes the volumes of a pod, save those of the host.
func (l layout) removeVolumes(uid types.UID) error {
	secrets := l.secretsDir(uid)
	return errors.Join(unmountMemory(secrets), os.RemoveAll(secrets), os.RemoveAll(l.volumesDir(uid)))
}
