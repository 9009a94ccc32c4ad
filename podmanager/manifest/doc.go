// Package manifest turns the bytes of a manifest into static pods: decoded,
// named, defaulted and validated as the kubelet's file and URL sources do it.
//
//	bytes ─▶ JSON ─▶ kind ─▶ v1.Pod ─▶ name? ─▶ defaults ─▶ identity ─▶ valid? ─▶ API references?
//	 read   decode  not-a-pod  decode  no-name                        validation   api-reference
//
// Each arrow may refuse the manifest; the word below it is the
// [podmanager.ManifestErrorKind] of the refusal, and the first step that
// refuses decides. A pod that arrives at the end has every field set that the
// API server would have set, the name <name>-<node>, the node's name, a UID and
// a hash of its content.
//
// # What is accepted
//
// One v1 Pod, in YAML or JSON; from a URL also a v1 PodList. Where a manifest
// is loose, the kubelet's verdict holds and a warning says so: of a key that
// is given twice the last counts, of several documents the first, and a field
// that nobody knows is passed over. In a PodList a bad item is refused alone,
// where the kubelet refuses the whole list.
//
// # What is refused beyond the kubelet
//
// Names become folders and paths further on, so a few things are refused that
// the kubelet lets through: a metadata.uid that can't be one element of a path, a
// mountPath that climbs with "..", a path that holds a NUL, and manifests that
// would take far more memory than their size tells (aliases that repeat long
// scalars, a million values).
//
// # Identity
//
// A manifest without metadata.uid gets a UID of 32 hex digits: a hash of the
// pod as it was decoded, before defaults, as JSON with sorted keys, together
// with what tells its origin apart: node and path for a file, the URL
// otherwise. Comments, order of keys and the form of a quantity don't count;
// nor do new releases of the library, as long as the JSON of the same pod is the
// same. The annotation kubernetes.io/config.hash holds that hash always, also
// when metadata.uid is given: identity and content are kept apart.
//
// Everything here is a pure function: no file is opened, no clock read, and a
// Decoder is safe for concurrent use. Values of environment variables are
// never part of an error or a warning.
package manifest
