package manifest

import (
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxLUN       = 255
	maxPartition = 255
	maxCSIDriver = 63
)

// What an initiator may be called: iSCSI's three schemes of names.
var iscsiName = regexp.MustCompile(`^(?:iqn\.\d{4}-\d{2}\.[[:alnum:]\-.]+(?::[^,;*&$|\s]+)?|eui\.[[:alnum:]]{16}|naa\.[[:alnum:]]{32})$`)

// serverVolume checks volumes that a file server provides.
func (c *checker) serverVolume(path *field.Path, s *v1.VolumeSource) {
	if nfs := s.NFS; nfs != nil {
		c.present(path.Child("nfs", "server"), nfs.Server)
		if c.present(path.Child("nfs", "path"), nfs.Path) && !strings.HasPrefix(nfs.Path, "/") {
			c.invalid(path.Child("nfs", "path"), nfs.Path, "must be an absolute path")
		}
	}
	if gluster := s.Glusterfs; gluster != nil {
		c.present(path.Child("glusterfs", "endpoints"), gluster.EndpointsName)
		c.present(path.Child("glusterfs", "path"), gluster.Path)
	}
	if ceph := s.CephFS; ceph != nil && len(ceph.Monitors) == 0 {
		c.required(path.Child("cephfs", "monitors"), "")
	}
	if quobyte := s.Quobyte; quobyte != nil {
		if c.present(path.Child("quobyte", "registry"), quobyte.Registry) {
			for host := range strings.SplitSeq(quobyte.Registry, ",") {
				if !strings.Contains(host, ":") {
					c.invalid(path.Child("quobyte", "registry"), quobyte.Registry, "must be a host:port pair or multiple pairs separated by commas")
					break
				}
			}
		}
		c.present(path.Child("quobyte", "volume"), quobyte.Volume)
	}
	if flocker := s.Flocker; flocker != nil {
		c.exactlyOne(path.Child("flocker"), "`datasetName` or `datasetUUID`", countSet(flocker.DatasetName != "", flocker.DatasetUUID != ""))
		if strings.Contains(flocker.DatasetName, "/") {
			c.invalid(path.Child("flocker", "datasetName"), flocker.DatasetName, "must not contain '/'")
		}
	}
	if flex := s.FlexVolume; flex != nil {
		c.present(path.Child("flexVolume", "driver"), flex.Driver)
		for _, key := range sortedKeys(flex.Options) {
			namespace, _, _ := strings.Cut(key, "/")
			if namespace = strings.ToLower(namespace); inDomain(namespace, "kubernetes.io") || inDomain(namespace, "k8s.io") {
				c.invalid(path.Child("flexVolume", "options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved")
			}
		}
	}
	if csi := s.CSI; csi != nil {
		c.csi(path.Child("csi"), csi)
	}
}

func inDomain(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

func (c *checker) csi(path *field.Path, csi *v1.CSIVolumeSource) {
	if len(csi.Driver) > maxCSIDriver {
		c.add(field.TooLong(path.Child("driver"), csi.Driver, maxCSIDriver))
	}
	c.name(path.Child("driver"), csi.Driver, func(driver string) []string {
		return validation.IsDNS1123Subdomain(strings.ToLower(driver))
	})
	if csi.NodePublishSecretRef != nil {
		c.name(path.Child("nodePublishSecretRef", "name"), csi.NodePublishSecretRef.Name, validation.IsDNS1123Subdomain)
	}
}

// blockVolume checks volumes that are disks of a storage network.
func (c *checker) blockVolume(path *field.Path, s *v1.VolumeSource) {
	if s.ISCSI != nil {
		c.iscsi(path.Child("iscsi"), s.ISCSI)
	}
	if s.FC != nil {
		c.fibreChannel(path.Child("fc"), s.FC)
	}
	if rbd := s.RBD; rbd != nil {
		if len(rbd.CephMonitors) == 0 {
			c.required(path.Child("rbd", "monitors"), "")
		}
		c.present(path.Child("rbd", "image"), rbd.RBDImage)
	}
	if scale := s.ScaleIO; scale != nil {
		c.present(path.Child("scaleIO", "gateway"), scale.Gateway)
		c.present(path.Child("scaleIO", "system"), scale.System)
		c.present(path.Child("scaleIO", "volumeName"), scale.VolumeName)
	}
	if storage := s.StorageOS; storage != nil {
		c.optionalName(path.Child("storageos", "volumeName"), storage.VolumeName, validation.IsDNS1123Label)
		c.optionalName(path.Child("storageos", "volumeNamespace"), storage.VolumeNamespace, validation.IsDNS1123Label)
		if storage.SecretRef != nil {
			c.present(path.Child("storageos", "secretRef", "name"), storage.SecretRef.Name)
		}
	}
	if s.PortworxVolume != nil {
		c.present(path.Child("portworxVolume", "volumeID"), s.PortworxVolume.VolumeID)
	}
}

func (c *checker) iscsi(path *field.Path, iscsi *v1.ISCSIVolumeSource) {
	c.present(path.Child("targetPortal"), iscsi.TargetPortal)
	if c.present(path.Child("iqn"), iscsi.IQN) && !iscsiName.MatchString(iscsi.IQN) {
		c.invalid(path.Child("iqn"), iscsi.IQN, "must be valid format")
	}
	within(c, path.Child("lun"), iscsi.Lun, 0, maxLUN)
	if (iscsi.DiscoveryCHAPAuth || iscsi.SessionCHAPAuth) && iscsi.SecretRef == nil {
		c.required(path.Child("secretRef"), "")
	}
	if name := iscsi.InitiatorName; name != nil && !iscsiName.MatchString(*name) {
		c.invalid(path.Child("initiatorName"), *name, "must be valid format")
	}
}

func (c *checker) fibreChannel(path *field.Path, fc *v1.FCVolumeSource) {
	wwn, wwid := len(fc.TargetWWNs) > 0, len(fc.WWIDs) > 0
	switch {
	case !wwn && !wwid:
		c.required(path.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
	case wwn && wwid:
		c.invalid(path.Child("targetWWNs"), fc.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	case wwn && fc.Lun == nil:
		c.required(path.Child("lun"), "lun is required if targetWWNs is specified")
	case wwn:
		within(c, path.Child("lun"), *fc.Lun, 0, maxLUN)
	}
}

// cloudVolume checks volumes that are disks of a cloud.
func (c *checker) cloudVolume(path *field.Path, s *v1.VolumeSource) {
	if gce := s.GCEPersistentDisk; gce != nil {
		c.present(path.Child("gcePersistentDisk", "pdName"), gce.PDName)
		within(c, path.Child("gcePersistentDisk", "partition"), gce.Partition, 0, maxPartition)
	}
	if aws := s.AWSElasticBlockStore; aws != nil {
		c.present(path.Child("awsElasticBlockStore", "volumeID"), aws.VolumeID)
		within(c, path.Child("awsElasticBlockStore", "partition"), aws.Partition, 0, maxPartition)
	}
	if cinder := s.Cinder; cinder != nil {
		c.present(path.Child("cinder", "volumeID"), cinder.VolumeID)
		if cinder.SecretRef != nil {
			c.present(path.Child("cinder", "secretRef", "name"), cinder.SecretRef.Name)
		}
	}
	if s.VsphereVolume != nil {
		c.present(path.Child("vsphereVolume", "volumePath"), s.VsphereVolume.VolumePath)
	}
	if s.PhotonPersistentDisk != nil {
		c.present(path.Child("photonPersistentDisk", "pdID"), s.PhotonPersistentDisk.PdID)
	}
	if azure := s.AzureFile; azure != nil {
		c.present(path.Child("azureFile", "secretName"), azure.SecretName)
		c.present(path.Child("azureFile", "shareName"), azure.ShareName)
	}
	if s.AzureDisk != nil {
		c.azureDisk(path.Child("azureDisk"), s.AzureDisk)
	}
}

func (c *checker) azureDisk(path *field.Path, disk *v1.AzureDiskVolumeSource) {
	c.present(path.Child("diskName"), disk.DiskName)
	optionalOneOf(c, path.Child("cachingMode"), disk.CachingMode,
		v1.AzureDataDiskCachingNone, v1.AzureDataDiskCachingReadOnly, v1.AzureDataDiskCachingReadWrite)
	optionalOneOf(c, path.Child("kind"), disk.Kind, v1.AzureSharedBlobDisk, v1.AzureDedicatedBlobDisk, v1.AzureManagedDisk)
	if !c.present(path.Child("diskURI"), disk.DataDiskURI) || disk.Kind == nil {
		return
	}
	scheme := "https://"
	if *disk.Kind == v1.AzureManagedDisk {
		scheme = "/subscriptions/"
	}
	if !strings.HasPrefix(disk.DataDiskURI, scheme) {
		c.invalid(path.Child("diskURI"), disk.DataDiskURI, "must begin with "+scheme+" for a disk of the kind "+string(*disk.Kind))
	}
}
