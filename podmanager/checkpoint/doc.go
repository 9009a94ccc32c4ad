// Package checkpoint keeps pods on disk, so that an agent that starts while its
// sources are down still knows what should run.
//
//	PodSource ──▶ PodConfig ──▶ Updates ──▶ (the loop)
//	    ▲             │ before anybody else              │
//	    │ RESTORE     ▼                                  ▼ what it remembers
//	    └────────── Folder ◀────────────────────────── Store
//	                  │
//	           one record a pod
//
// A [Folder] is all there is. It is the Checkpointer of a podmanager.Config;
// [Folder.Sources] puts what was on disk before the first word of each source;
// and [Folder.Remember] keeps beside each pod what somebody else must remember of
// it. Package syncloop/diskstore makes a syncloop.Store of that.
//
// # What is kept
//
// The [Policy] says of which pods. The record of any other pod holds only what is
// remembered. Mirror pods are never kept. A pod is kept as its source gave it,
// without managedFields: with the values that stand in its environment, which
// are in the manifest too. The records are readable by their owner alone
// (mode 0600, in a folder of mode 0700). What Secret objects hold is no part of a
// pod and comes nowhere near a record.
//
// # A crash at any moment
//
// A pod is on disk before the loop hears of it, and off it before the loop hears
// that it is not wanted any more. So a crash between loses no pod that was
// started, and starts none anew that was to stop: what still runs of it is known
// by what is remembered, and stopped once its source was heard. Records are
// written whole or not at all (see the format), and many at a time cost one sync
// of the disk.
//
// A damaged record is set aside under another name, reported by
// [Folder.Problems], and harms no other. A disk that is full costs the
// checkpoints and nothing else: what could not be written is tried again, and
// PodConfig.Checkpoints tells.
//
// # At the start
//
// Pods come as RESTORE, each from the source that it came from. They are handled as
// additions, and their source does not count as heard. Its first word confirms,
// updates or removes them; what is confirmed is not even told to the loop again.
//
// A source that has pods on disk and is not there any more is said so (as a
// [*RetiredError]). Its pods are restored all the same, and go in an orderly way
// once all other sources have said their lists: by then each pod that another
// source took over is known. (kubernetes/kubernetes#59275 had them run for ever.)
//
// # Format
//
// A record is a file of its own, named pod-UID; a UID that is no plain lower-case
// name has podx- and its SHA-256 instead. It is one line with a checksum over the bytes
// of the rest, and then a JSON object:
//
//	kubeparts/1 sha256:<hex>
//	{"format":1,"uid":"…","source":"http","pod":{…},"memory":{…}}
//
// Many that are written at once share a file, batch-N: the same first line, and then
// for each record a line with a checksum, its length and its name, and the record.
// A file of its own beats a batch, and a later batch an earlier one.
//
// pod is a v1.Pod and may be missing; memory belongs to whoever remembers it, and may
// be missing too. Fields that a reader does not know are passed over; a format that
// it does not know is treated as damage. A file *.corrupt-TIME was set aside, and
// .tmp-* is what a crash left of a write: the next Open removes it.
package checkpoint
