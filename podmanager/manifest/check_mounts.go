package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *checker) mounts(path *field.Path, container *v1.Container) {
	taken := map[string]bool{}
	devices := map[string]bool{}
	for _, device := range container.VolumeDevices {
		devices[device.DevicePath] = true
	}
	for i := range container.VolumeMounts {
		mount, path := &container.VolumeMounts[i], path.Child("volumeMounts").Index(i)
		if c.present(path.Child("name"), mount.Name) && c.volumes[mount.Name] == nil {
			c.add(field.NotFound(path.Child("name"), mount.Name))
		}
		if c.present(path.Child("mountPath"), mount.MountPath) {
			c.noBacksteps(path.Child("mountPath"), mount.MountPath)
		}
		if taken[mount.MountPath] {
			c.invalid(path.Child("mountPath"), mount.MountPath, "must be unique")
		}
		taken[mount.MountPath] = true
		if devices[mount.MountPath] {
			c.invalid(path.Child("mountPath"), mount.MountPath, "must not already exist as a path in volumeDevices")
		}
		c.subPath(path, mount)
		c.mountModes(path, mount, container.SecurityContext)
	}
}

// subPath stays inside the volume.
func (c *checker) subPath(path *field.Path, mount *v1.VolumeMount) {
	c.descending(path.Child("subPath"), mount.SubPath)
	if mount.SubPathExpr == "" {
		return
	}
	if mount.SubPath != "" {
		c.invalid(path.Child("subPathExpr"), mount.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
	}
	c.descending(path.Child("subPathExpr"), mount.SubPathExpr)
}

func (c *checker) mountModes(path *field.Path, mount *v1.VolumeMount, security *v1.SecurityContext) {
	propagation := v1.MountPropagationNone
	if mount.MountPropagation != nil {
		propagation = *mount.MountPropagation
		oneOf(c, path.Child("mountPropagation"), propagation,
			v1.MountPropagationBidirectional, v1.MountPropagationHostToContainer, v1.MountPropagationNone)
	}
	privileged := security != nil && security.Privileged != nil && *security.Privileged
	if propagation == v1.MountPropagationBidirectional && !privileged {
		c.forbidden(path.Child("mountPropagation"), "Bidirectional mount propagation is available only to privileged containers")
	}
	if mount.RecursiveReadOnly == nil {
		return
	}
	mode, path := *mount.RecursiveReadOnly, path.Child("recursiveReadOnly")
	oneOf(c, path, mode, v1.RecursiveReadOnlyDisabled, v1.RecursiveReadOnlyIfPossible, v1.RecursiveReadOnlyEnabled)
	if mode != v1.RecursiveReadOnlyIfPossible && mode != v1.RecursiveReadOnlyEnabled {
		return
	}
	if !mount.ReadOnly {
		c.forbidden(path, "may only be specified when readOnly is true")
	}
	if propagation != v1.MountPropagationNone {
		c.forbidden(path, "may only be specified when mountPropagation is None or not specified")
	}
}

// devices checks volumes that a container sees as block devices.
func (c *checker) devices(path *field.Path, container *v1.Container) {
	mounted := map[string]bool{}
	for i := range container.VolumeMounts {
		mounted[container.VolumeMounts[i].Name] = true
	}
	names, paths := map[string]bool{}, map[string]bool{}
	for i, device := range container.VolumeDevices {
		path := path.Child("volumeDevices").Index(i)
		if c.present(path.Child("name"), device.Name) {
			c.unique(names, path.Child("name"), device.Name)
			c.deviceVolume(path.Child("name"), device.Name)
		}
		if c.present(path.Child("devicePath"), device.DevicePath) {
			c.noBacksteps(path.Child("devicePath"), device.DevicePath)
			c.unique(paths, path.Child("devicePath"), device.DevicePath)
		}
		if mounted[device.Name] {
			c.invalid(path.Child("name"), device.Name, "must not already exist in volumeMounts")
		}
	}
}

func (c *checker) deviceVolume(path *field.Path, name string) {
	switch source := c.volumes[name]; {
	case source == nil:
		c.add(field.NotFound(path, name))
	case source.PersistentVolumeClaim == nil && source.Ephemeral == nil:
		c.invalid(path, name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
	}
}
