package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxFileMode is the highest mode bits of a file that a volume holds.
const maxFileMode = 0o777

func (c *checker) volumeList(path *field.Path) {
	c.volumes = map[string]*v1.VolumeSource{}
	names := map[string]bool{}
	for i := 0; i < len(c.spec.Volumes) && !c.more; i++ {
		volume, path := &c.spec.Volumes[i], path.Index(i)
		c.name(path.Child("name"), volume.Name, validation.IsDNS1123Label)
		if volume.Name != "" {
			c.unique(names, path.Child("name"), volume.Name)
			c.volumes[volume.Name] = &volume.VolumeSource
		}
		if sources := countSources(&volume.VolumeSource); sources > 1 {
			c.forbidden(path, "may not specify more than 1 volume type")
		}
		c.localVolume(path, &volume.VolumeSource)
		c.contentVolume(path, &volume.VolumeSource)
		c.claimVolume(path, &volume.VolumeSource)
		c.serverVolume(path, &volume.VolumeSource)
		c.blockVolume(path, &volume.VolumeSource)
		c.cloudVolume(path, &volume.VolumeSource)
	}
}

func countSources(s *v1.VolumeSource) int {
	return countSet(s.HostPath != nil, s.EmptyDir != nil, s.GCEPersistentDisk != nil, s.AWSElasticBlockStore != nil,
		s.GitRepo != nil, s.Secret != nil, s.NFS != nil, s.ISCSI != nil, s.Glusterfs != nil, s.PersistentVolumeClaim != nil,
		s.RBD != nil, s.FlexVolume != nil, s.Cinder != nil, s.CephFS != nil, s.Flocker != nil, s.DownwardAPI != nil,
		s.FC != nil, s.AzureFile != nil, s.ConfigMap != nil, s.VsphereVolume != nil, s.Quobyte != nil, s.AzureDisk != nil,
		s.PhotonPersistentDisk != nil, s.Projected != nil, s.PortworxVolume != nil, s.ScaleIO != nil, s.StorageOS != nil,
		s.CSI != nil, s.Ephemeral != nil, s.Image != nil)
}

// localVolume checks what the node itself provides.
func (c *checker) localVolume(path *field.Path, s *v1.VolumeSource) {
	if dir := s.EmptyDir; dir != nil && dir.SizeLimit != nil && dir.SizeLimit.Sign() < 0 {
		c.forbidden(path.Child("emptyDir", "sizeLimit"), "SizeLimit field must be a valid resource quantity")
	}
	if host := s.HostPath; host != nil {
		path := path.Child("hostPath")
		if c.present(path.Child("path"), host.Path) {
			c.noBacksteps(path.Child("path"), host.Path)
		}
		if host.Type != nil && *host.Type != v1.HostPathUnset {
			oneOf(c, path.Child("type"), *host.Type, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory,
				v1.HostPathFileOrCreate, v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev)
		}
	}
	if repo := s.GitRepo; repo != nil {
		c.present(path.Child("gitRepo", "repository"), repo.Repository)
		c.descending(path.Child("gitRepo", "directory"), repo.Directory)
	}
	if image := s.Image; image != nil {
		c.present(path.Child("image", "reference"), image.Reference)
		oneOf(c, path.Child("image", "pullPolicy"), image.PullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	}
}

// contentVolume checks volumes whose files are objects of the API.
func (c *checker) contentVolume(path *field.Path, s *v1.VolumeSource) {
	if secret := s.Secret; secret != nil {
		path := path.Child("secret")
		c.present(path.Child("secretName"), secret.SecretName)
		c.mode(path.Child("defaultMode"), secret.DefaultMode)
		c.keys(path.Child("items"), secret.Items)
	}
	if configMap := s.ConfigMap; configMap != nil {
		path := path.Child("configMap")
		c.present(path.Child("name"), configMap.Name)
		c.mode(path.Child("defaultMode"), configMap.DefaultMode)
		c.keys(path.Child("items"), configMap.Items)
	}
	if downward := s.DownwardAPI; downward != nil {
		path := path.Child("downwardAPI")
		c.mode(path.Child("defaultMode"), downward.DefaultMode)
		c.downwardFiles(path.Child("items"), downward.Items)
	}
	if s.Projected != nil {
		c.projectedVolume(path.Child("projected"), s.Projected)
	}
}

// keys checks which keys become which files.
func (c *checker) keys(path *field.Path, items []v1.KeyToPath) {
	for i, item := range items {
		path := path.Index(i)
		c.present(path.Child("key"), item.Key)
		c.projected(path.Child("path"), item.Path)
		c.mode(path.Child("mode"), item.Mode)
	}
}

func (c *checker) downwardFiles(path *field.Path, files []v1.DownwardAPIVolumeFile) {
	for i := range files {
		file, path := &files[i], path.Index(i)
		c.projected(path.Child("path"), file.Path)
		c.mode(path.Child("mode"), file.Mode)
		switch {
		case file.FieldRef != nil && file.ResourceFieldRef != nil:
			c.invalid(path, "", "fieldRef and resourceFieldRef can not be specified simultaneously")
		case file.FieldRef == nil && file.ResourceFieldRef == nil:
			c.required(path.Child("fieldRef"), "one of fieldRef and resourceFieldRef is required")
		}
		if file.FieldRef != nil {
			c.fieldRef(path.Child("fieldRef"), file.FieldRef, volumeFields)
		}
		if ref := file.ResourceFieldRef; ref != nil {
			c.present(path.Child("resourceFieldRef", "containerName"), ref.ContainerName)
			c.resourceFieldRef(path.Child("resourceFieldRef"), ref)
		}
	}
}

func (c *checker) mode(path *field.Path, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > maxFileMode) {
		c.invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

// claimVolume checks volumes that a claim stands for.
func (c *checker) claimVolume(path *field.Path, s *v1.VolumeSource) {
	if s.PersistentVolumeClaim != nil {
		c.present(path.Child("persistentVolumeClaim", "claimName"), s.PersistentVolumeClaim.ClaimName)
	}
	if s.Ephemeral == nil {
		return
	}
	path = path.Child("ephemeral", "volumeClaimTemplate")
	template := s.Ephemeral.VolumeClaimTemplate
	if template == nil {
		c.required(path, "")
		return
	}
	path = path.Child("spec")
	if len(template.Spec.AccessModes) == 0 {
		c.required(path.Child("accessModes"), "at least 1 access mode is required")
	}
	for i, mode := range template.Spec.AccessModes {
		oneOf(c, path.Child("accessModes").Index(i), mode, v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany, v1.ReadWriteOncePod)
	}
	storage, ok := template.Spec.Resources.Requests[v1.ResourceStorage]
	if !ok {
		c.required(path.Child("resources", "requests").Key(string(v1.ResourceStorage)), "")
	} else if storage.Sign() <= 0 {
		c.invalid(path.Child("resources", "requests").Key(string(v1.ResourceStorage)), storage.String(), "must be greater than zero")
	}
	optionalOneOf(c, path.Child("volumeMode"), template.Spec.VolumeMode, v1.PersistentVolumeFilesystem, v1.PersistentVolumeBlock)
}
