// Package nodestats measures a real node, as the kubelet's stats do: memory of
// cgroups of both versions and of /proc/meminfo, file systems with their inodes,
// processes, and what the kernel tells of pressure (PSI).
//
//	/proc, /sys/fs/cgroup, statfs ──▶ Reader.NodeStats ──▶ eviction.Observe
//	/proc/pressure, memory.pressure ─▶ Reader.Notifier ──▶ eviction.Manager wakes
//
// [Reader] is an [eviction.NodeMeter]; joined with the runtime's pod stats
// ([eviction.Join]) it is what an [eviction.Manager] needs. On systems other than
// Linux [New] says that they are not supported.
package nodestats
