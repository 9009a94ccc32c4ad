package admission

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/node/util/sysctl"
)

// ReasonSysctlForbidden says that the pod sets a kernel parameter that it may not.
const ReasonSysctlForbidden = "SysctlForbidden"

// safeSysctls are the parameters that any pod may set, each with the kernel
// that first kept them apart by namespace; "" is any.
var safeSysctls = []struct{ name, since string }{
	{"kernel.shm_rmid_forced", ""},
	{"net.ipv4.ip_local_port_range", ""},
	{"net.ipv4.tcp_syncookies", ""},
	{"net.ipv4.ping_group_range", ""},
	{"net.ipv4.ip_unprivileged_port_start", ""},
	{"net.ipv4.ip_local_reserved_ports", "3.16"},
	{"net.ipv4.tcp_keepalive_time", "4.5"},
	{"net.ipv4.tcp_fin_timeout", "4.6"},
	{"net.ipv4.tcp_keepalive_intvl", "4.5"},
	{"net.ipv4.tcp_keepalive_probes", "4.5"},
	{"net.ipv4.tcp_rmem", "4.15"},
	{"net.ipv4.tcp_wmem", "4.15"},
}

// SafeSysctls lists the kernel parameters that the kubelet lets any pod set on
// a kernel of the version, as "6.1.0-18-amd64". Of a version that can't be read
// only those that every kernel has are safe.
func SafeSysctls(kernel string) []string {
	running, err := version.ParseGeneric(kernel)
	var names []string
	for _, s := range safeSysctls {
		if s.since == "" || err == nil && running.AtLeast(version.MustParseGeneric(s.since)) {
			names = append(names, s.name)
		}
	}
	return names
}

// Sysctls checks that a pod sets only kernel parameters that are allowed, and
// none of a namespace that it shares with the node. Make one with [NewSysctls];
// the zero value allows none. It is safe for concurrent use.
type Sysctls struct {
	names    map[string]sysctl.Namespace
	prefixes []sysctlPrefix
}

type sysctlPrefix struct {
	prefix    string
	namespace sysctl.Namespace
}

// A pattern is a name in segments, of which the last may end with a star.
var sysctlPattern = regexp.MustCompile(
	`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9]([-_a-z0-9]*[a-z0-9])?|([a-z0-9][-_a-z0-9]*)?\*)$`)

const longestSysctl = 253

// NewSysctls allows the names and patterns given: those of [SafeSysctls] and
// what an operator adds, as "kernel.shm*" or "net/core/somaxconn". The error
// names a pattern that is none, or that no namespace is known for.
func NewSysctls(patterns ...string) (*Sysctls, error) {
	s := &Sysctls{names: make(map[string]sysctl.Namespace)}
	for _, pattern := range patterns {
		if len(pattern) > longestSysctl || !sysctlPattern.MatchString(pattern) {
			return nil, fmt.Errorf("sysctl pattern %q is none: it is a name with an optional * at its end", pattern)
		}
		namespace, name, _ := sysctl.GetNamespace(pattern)
		if namespace == sysctl.UnknownNamespace {
			return nil, fmt.Errorf("sysctl pattern %q: it is not known to be of a namespace", pattern)
		}
		if strings.HasSuffix(pattern, "*") {
			s.prefixes = append(s.prefixes, sysctlPrefix{name, namespace})
		} else {
			s.names[name] = namespace
		}
	}
	return s, nil
}

// Class is PodAlone.
func (*Sysctls) Class() Class { return PodAlone }

// Admit rejects a pod for the first parameter that it may not set.
func (s *Sysctls) Admit(_ context.Context, req Request) (Verdict, error) {
	sc := req.Pod.Spec.SecurityContext
	if sc == nil {
		return Admitted(), nil
	}
	for _, set := range sc.Sysctls {
		name := sysctl.NormalizeName(set.Name)
		namespace, allowed := s.namespaceOf(name)
		switch {
		case !allowed:
			return Rejected(ReasonSysctlForbidden, fmt.Sprintf("forbidden sysctl: %q not allowlisted", name)), nil
		case namespace == sysctl.IPCNamespace && req.Pod.Spec.HostIPC,
			namespace == sysctl.NetNamespace && req.Pod.Spec.HostNetwork:
			return Rejected(ReasonSysctlForbidden,
				fmt.Sprintf("forbidden sysctl: %q not allowed with host %s enabled", name, namespace)), nil
		}
	}
	return Admitted(), nil
}

func (s *Sysctls) namespaceOf(name string) (sysctl.Namespace, bool) {
	if namespace, ok := s.names[name]; ok {
		return namespace, true
	}
	i := slices.IndexFunc(s.prefixes, func(p sysctlPrefix) bool { return strings.HasPrefix(name, p.prefix) })
	if i < 0 {
		return sysctl.UnknownNamespace, false
	}
	return s.prefixes[i].namespace, true
}
