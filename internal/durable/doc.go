// Package durable keeps small records in a folder, one file each. It is the
// one way in which anything of this library reaches the disk.
//
// A record is there whole or not at all, in its old form or its new one,
// whatever crashes and whenever:
//
//	temporary file ─▶ fsync ─▶ rename over the old ─▶ fsync of the folder
//
// Each record carries a checksum over its bytes. One that fails it is set aside
// under another name, for people to look at, and reported as a [CorruptError];
// the others are not concerned. Several changes in one [Folder.Commit] cost one
// pass of syncing together, where the system can. A [Batched] folder puts many that
// are written at once into one file.
//
// Records are for their owner alone (mode 0600, in a folder of mode 0700).
package durable
