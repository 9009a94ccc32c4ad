//go:build unix

package process

import (
	"os/user"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// credentials say whom a container runs as, nil for the agent itself, and
// whether it must not gain rights. A user without a group gets its own of the
// machine's, and the groups are those of the pod alone, never those that the
// machine gives the user.
func (b *Backend) credentials(sc *v1.SecurityContext, s *sandbox) (*keeper.User, bool) {
	if sc == nil {
		sc = &v1.SecurityContext{}
	}
	restricted := noNewPrivileges(sc)
	if b.agent.UID != 0 || sc.RunAsUser == nil && sc.RunAsGroup == nil && len(s.rec.Groups) == 0 {
		return nil, restricted
	}
	who := &keeper.User{UID: uint32(userOf(sc, b.agent)), Groups: s.rec.Groups}
	if sc.RunAsGroup != nil {
		who.GID = uint32(*sc.RunAsGroup)
	} else {
		who.GID = groupOf(who.UID)
	}
	return who, restricted
}

// groupOf is the primary group of a user, for one that the machine doesn't know
// the group of the same number.
func groupOf(uid uint32) uint32 {
	if u, err := user.LookupId(strconv.Itoa(int(uid))); err == nil {
		if gid, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
			return uint32(gid)
		}
	}
	return uid
}

// groupsOf are the supplementary groups of a pod's processes.
func groupsOf(sc *v1.PodSecurityContext) []uint32 {
	if sc == nil {
		return nil
	}
	var groups []uint32
	for _, g := range sc.SupplementalGroups {
		groups = append(groups, uint32(g))
	}
	if sc.FSGroup != nil {
		groups = append(groups, uint32(*sc.FSGroup))
	}
	return groups
}
