package manifest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The bounds of a projected token's and certificate's life, in seconds.
const (
	minTokenSeconds       = 10 * 60
	maxTokenSeconds       = 1 << 32
	minCertificateSeconds = 60 * 60
	maxCertificateSeconds = 91 * 24 * 60 * 60
)

// projectedVolume checks a volume that several sources fill; no two of them may
// write one file.
func (c *checker) projectedVolume(path *field.Path, projected *v1.ProjectedVolumeSource) {
	c.mode(path.Child("defaultMode"), projected.DefaultMode)
	files := map[string]bool{}
	for i := range projected.Sources {
		c.projection(path.Child("sources").Index(i), &projected.Sources[i], files)
	}
}

func (c *checker) projection(path *field.Path, source *v1.VolumeProjection, files map[string]bool) {
	set := countSet(source.Secret != nil, source.ConfigMap != nil, source.DownwardAPI != nil,
		source.ServiceAccountToken != nil, source.ClusterTrustBundle != nil, source.PodCertificate != nil)
	switch {
	case set == 0:
		c.required(path, "must specify a source")
	case set > 1:
		c.forbidden(path, "may not specify more than 1 volume type")
	}
	if secret := source.Secret; secret != nil {
		c.present(path.Child("secret", "name"), secret.Name)
		c.keys(path.Child("secret", "items"), secret.Items)
		c.keyFiles(path.Child("secret", "items"), secret.Items, files)
	}
	if configMap := source.ConfigMap; configMap != nil {
		c.present(path.Child("configMap", "name"), configMap.Name)
		c.keys(path.Child("configMap", "items"), configMap.Items)
		c.keyFiles(path.Child("configMap", "items"), configMap.Items, files)
	}
	if downward := source.DownwardAPI; downward != nil {
		c.downwardFiles(path.Child("downwardAPI", "items"), downward.Items)
		for i, item := range downward.Items {
			c.file(path.Child("downwardAPI", "items").Index(i).Child("path"), item.Path, files)
		}
	}
	if source.ServiceAccountToken != nil {
		c.projectedToken(path.Child("serviceAccountToken"), source.ServiceAccountToken, files)
	}
	if source.ClusterTrustBundle != nil {
		c.trustBundle(path.Child("clusterTrustBundle"), source.ClusterTrustBundle, files)
	}
	if source.PodCertificate != nil {
		c.podCertificate(path.Child("podCertificate"), source.PodCertificate, files)
	}
}

func (c *checker) keyFiles(path *field.Path, items []v1.KeyToPath, files map[string]bool) {
	for i, item := range items {
		c.file(path.Index(i).Child("path"), item.Path, files)
	}
}

// file notes a file that a source writes.
func (c *checker) file(path *field.Path, name string, files map[string]bool) {
	if name == "" {
		return
	}
	if files[name] {
		c.invalid(path, name, "conflicting duplicate paths")
	}
	files[name] = true
}

func (c *checker) projectedToken(path *field.Path, token *v1.ServiceAccountTokenProjection, files map[string]bool) {
	if c.spec.ServiceAccountName == "" {
		c.forbidden(path, "must not be specified when serviceAccountName is not set")
	}
	if seconds := token.ExpirationSeconds; seconds != nil {
		within(c, path.Child("expirationSeconds"), *seconds, minTokenSeconds, maxTokenSeconds)
	}
	c.projected(path.Child("path"), token.Path)
	c.file(path.Child("path"), token.Path, files)
}

func (c *checker) trustBundle(path *field.Path, bundle *v1.ClusterTrustBundleProjection, files map[string]bool) {
	switch named, signed := bundle.Name != nil, bundle.SignerName != nil; {
	case named && signed:
		c.invalid(path, "", "only one of name and signerName may be used")
	case !named && !signed:
		c.required(path, "either name or signerName must be specified")
	case named && *bundle.Name == "":
		c.required(path.Child("name"), "")
	case named && bundle.LabelSelector != nil:
		c.invalid(path.Child("labelSelector"), "", "labelSelector must be unset if name is specified")
	case signed && *bundle.SignerName == "":
		c.required(path.Child("signerName"), "")
	}
	c.add(metav1validation.ValidateLabelSelector(bundle.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("labelSelector"))...)
	c.projected(path.Child("path"), bundle.Path)
	c.file(path.Child("path"), bundle.Path, files)
}

var certificateKeys = []string{"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"}

func (c *checker) podCertificate(path *field.Path, certificate *v1.PodCertificateProjection, files map[string]bool) {
	c.add(validation.IsDomainPrefixedPath(path.Child("signerName"), certificate.SignerName)...)
	oneOf(c, path.Child("keyType"), certificate.KeyType, certificateKeys...)
	if seconds := certificate.MaxExpirationSeconds; seconds != nil {
		within(c, path.Child("maxExpirationSeconds"), *seconds, minCertificateSeconds, maxCertificateSeconds)
	}
	paths := map[string]string{
		"credentialBundlePath": certificate.CredentialBundlePath,
		"keyPath":              certificate.KeyPath,
		"certificateChainPath": certificate.CertificateChainPath,
	}
	written := 0
	for _, field := range []string{"credentialBundlePath", "keyPath", "certificateChainPath"} {
		if paths[field] != "" {
			written++
			c.projected(path.Child(field), paths[field])
			c.file(path.Child(field), paths[field], files)
		}
	}
	if written == 0 {
		c.required(path, fmt.Sprintf("must specify at least one of %s, %s and %s", "credentialBundlePath", "keyPath", "certificateChainPath"))
	}
}
