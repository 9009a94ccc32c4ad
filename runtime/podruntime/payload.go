package podruntime

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// payload is what a volume holds that the agent fills, by the path inside of
// it: clean, local, with slashes.
type payload map[string]payloadFile

type payloadFile struct {
	data []byte
	mode os.FileMode
}

// isFilled tells whether the agent fills the volume, and its containers only
// read it.
func isFilled(src *v1.VolumeSource) bool {
	return src.ConfigMap != nil || src.Secret != nil || src.DownwardAPI != nil || src.Projected != nil
}

// holdsSecret tells whether what is in the volume must not reach a disk.
func holdsSecret(src *v1.VolumeSource) bool {
	if src.Projected != nil {
		for i := range src.Projected.Sources {
			if src.Projected.Sources[i].Secret != nil {
				return true
			}
		}
	}
	return src.Secret != nil
}

// payloadOf resolves what a volume that isFilled holds now. Messages about
// objects are the kubelet's.
func (f podFacts) payloadOf(src *v1.VolumeSource) (payload, error) {
	p := payload{}
	var err error
	switch {
	case src.ConfigMap != nil:
		s := src.ConfigMap
		err = f.addConfigMap(p, s.Name, s.Items, s.DefaultMode, s.Optional)
	case src.Secret != nil:
		s := src.Secret
		err = f.addSecret(p, s.SecretName, s.Items, s.DefaultMode, s.Optional)
	case src.DownwardAPI != nil:
		err = f.addFields(p, src.DownwardAPI.Items, src.DownwardAPI.DefaultMode)
	case src.Projected != nil:
		for i := range src.Projected.Sources {
			if err := f.addProjection(p, &src.Projected.Sources[i], src.Projected.DefaultMode); err != nil {
				return nil, err
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return p, p.bounded()
}

// maxPayload bounds, in bytes, what a volume that is filled holds. Objects are
// bounded, but a manifest can name one key under any number of paths, and what is
// in memory is nobody's to evict.
const maxPayload = 64 << 20

var errPayload = fmt.Errorf("it would hold more than %d MiB", maxPayload>>20)

// bounded refuses what no volume is made to hold.
func (p payload) bounded() error {
	size := 0
	for _, file := range p {
		if size += len(file.data); size > maxPayload {
			return errPayload
		}
	}
	return nil
}

// addProjection adds one source of a projected volume; of two files of one path
// the later one stays.
func (f podFacts) addProjection(p payload, src *v1.VolumeProjection, mode *int32) error {
	switch {
	case src.ConfigMap != nil:
		return f.addConfigMap(p, src.ConfigMap.Name, src.ConfigMap.Items, mode, src.ConfigMap.Optional)
	case src.Secret != nil:
		return f.addSecret(p, src.Secret.Name, src.Secret.Items, mode, src.Secret.Optional)
	case src.DownwardAPI != nil:
		return f.addFields(p, src.DownwardAPI.Items, mode)
	case src.ServiceAccountToken != nil:
		return errors.New("projected sources of kind serviceAccountToken are not supported")
	case src.ClusterTrustBundle != nil:
		return errors.New("projected sources of kind clusterTrustBundle are not supported")
	}
	return errors.New("projected source of an unknown kind")
}

func (f podFacts) addConfigMap(p payload, name string, items []v1.KeyToPath, mode *int32, optional *bool) error {
	object, err := f.objects.configMap(name, optional)
	if err != nil || object == nil {
		return err
	}
	data := make(map[string][]byte, len(object.Data)+len(object.BinaryData))
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	maps.Copy(data, object.BinaryData)
	missing, err := p.addKeys(data, items, mode)
	if err == nil && missing != "" && !isOptional(optional) {
		err = fmt.Errorf("configmap references non-existent config key: %s", missing)
	}
	return err
}

func (f podFacts) addSecret(p payload, name string, items []v1.KeyToPath, mode *int32, optional *bool) error {
	object, err := f.objects.secret(name, optional)
	if err != nil || object == nil {
		return err
	}
	missing, err := p.addKeys(object.Data, items, mode)
	if err == nil && missing != "" && !isOptional(optional) {
		err = fmt.Errorf("references non-existent secret key: %s", missing)
	}
	return err
}

// addFields adds what the pod knows of itself.
func (f podFacts) addFields(p payload, items []v1.DownwardAPIVolumeFile, mode *int32) error {
	for i := range items {
		item := &items[i]
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = f.field(item.FieldRef)
		case item.ResourceFieldRef != nil:
			value, err = f.resource(&v1.Container{}, item.ResourceFieldRef)
		}
		if err == nil {
			err = p.add(item.Path, []byte(value), modeOf(item.Mode, mode))
		}
		if err != nil {
			return fmt.Errorf("downwardAPI items[%d]: %w", i, err)
		}
	}
	return nil
}

// addKeys adds all keys of an object or, where there are items, theirs alone. It
// returns a key that the object does not have.
func (p payload) addKeys(data map[string][]byte, items []v1.KeyToPath, mode *int32) (missing string, err error) {
	if len(items) == 0 {
		for key, value := range data {
			err = errors.Join(err, p.add(key, value, modeOf(mode)))
		}
		return "", err
	}
	for i := range items {
		item := &items[i]
		value, ok := data[item.Key]
		if !ok {
			missing = item.Key
			continue
		}
		if err := p.add(item.Path, value, modeOf(item.Mode, mode)); err != nil {
			return "", err
		}
	}
	return missing, nil
}

// modeOf is the first mode that is set, by default that of a file to read.
func modeOf(modes ...*int32) os.FileMode {
	for _, mode := range modes {
		if mode != nil {
			return os.FileMode(*mode) & os.ModePerm
		}
	}
	return os.FileMode(v1.ConfigMapVolumeSourceDefaultMode)
}

// maxPath is the longest path of a file in a volume, in bytes.
const maxPath = 4096

// add adds a file. Its path must stay in the volume, and clear of the names
// that the volume keeps for itself: those that begin with two dots.
func (p payload) add(name string, data []byte, mode os.FileMode) error {
	clean := path.Clean(name)
	if !filepath.IsLocal(clean) || clean == "." || strings.HasPrefix(clean, "..") ||
		strings.ContainsAny(clean, "\\\x00") || len(name) > maxPath {
		return fmt.Errorf("%s can't be the path of a file in a volume", shown(name))
	}
	p[clean] = payloadFile{data: data, mode: mode}
	return nil
}

// shown is a name from outside, as a message may repeat it.
func shown(name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return fmt.Sprintf("%+q", name)
}
