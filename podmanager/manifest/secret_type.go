package manifest

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkSecretType is what the API demands of a Secret by its type: whoever reads
// one of a known type may count on it. Other types may hold what they like.
func checkSecretType(s *v1.Secret) (errs field.ErrorList) {
	data := field.NewPath("data")
	has := func(key string) bool { _, ok := s.Data[key]; return ok }
	demand := func(keys ...string) {
		for _, key := range keys {
			if !has(key) {
				errs = append(errs, field.Required(data.Key(key), "a Secret of type "+string(s.Type)+" has it"))
			}
		}
	}
	demandJSON := func(key string) {
		if demand(key); has(key) && !json.Valid(s.Data[key]) {
			errs = append(errs, field.Invalid(data.Key(key), "<secret contents redacted>", "it is not JSON"))
		}
	}
	switch s.Type {
	case v1.SecretTypeServiceAccountToken:
		if s.Annotations[v1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(v1.ServiceAccountNameKey), ""))
		}
	case v1.SecretTypeDockercfg:
		demandJSON(v1.DockerConfigKey)
	case v1.SecretTypeDockerConfigJson:
		demandJSON(v1.DockerConfigJsonKey)
	case v1.SecretTypeBasicAuth:
		if !has(v1.BasicAuthUsernameKey) && !has(v1.BasicAuthPasswordKey) {
			errs = append(errs, field.Required(data, "a Secret of type "+string(s.Type)+" has a username or a password"))
		}
	case v1.SecretTypeSSHAuth:
		demand(v1.SSHAuthPrivateKey)
	case v1.SecretTypeTLS:
		demand(v1.TLSCertKey, v1.TLSPrivateKeyKey)
	}
	return errs
}
