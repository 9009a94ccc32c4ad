// Package source has the sources of static pods: a file or folder of manifests,
// an HTTP server, and a Go channel for hosts that know better. And it has one of
// the ConfigMaps and Secrets that pods refer to, which is a folder, too.
//
//	folder ──▶ File ────┐
//	URL    ──▶ HTTP ────┼──▶ podmanager.Report ──▶ PodConfig ──▶ Mux
//	host   ──▶ Channel ─┘
//	folder ──▶ Objects ────▶ podmanager.ObjectReport ──▶ Cache
//
// A source that can't be read says so and keeps trying; what it said last
// stays in force. A manifest that turns bad is refused alone, and the last good
// version of it stays too: whoever edits a manifest with an error in it does not
// stop the pod. An empty folder is an answer, a missing one is not.
package source
