package podruntime

import (
	"context"
	"fmt"
	"maps"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// makeVolumes makes the pod's volumes. If one can't be made, no container of
// the plan can be started, and each says why.
func (p *pass) makeVolumes(ctx context.Context, a runtime.Actions) error {
	defer p.state.begin("its volumes", "")()
	facts, err := p.volumeFacts(ctx)
	var volumes map[string]volume
	if err == nil {
		volumes, err = p.layout.makeVolumes(facts)
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if err == nil {
		p.volumes = volumes
		return nil
	}
	p.warn(p.state, objectOf(p.pod, ""), "FailedMount", err.Error())
	for _, starts := range [][]runtime.Start{a.Ephemeral, a.Init, a.Containers} {
		for _, start := range starts {
			p.report(runtime.StartResult{
				Container: start.Container.Name, Reason: runtime.ReasonCreateContainerConfigError, Message: err.Error(),
			})
		}
	}
	return err
}

// volumeFacts are the facts, and what the backend says of files if there are
// secrets among the volumes.
func (p *pass) volumeFacts(ctx context.Context) (podFacts, error) {
	facts := p.facts(ctx)
	for i := range p.pod.Spec.Volumes {
		if !holdsSecret(&p.pod.Spec.Volumes[i].VolumeSource) {
			continue
		}
		info, err := p.cfg.Backend.Info(ctx)
		if err != nil {
			return facts, fmt.Errorf("ask the backend what its containers see: %w", err)
		}
		facts.sharedFiles = info.Limits.SharedFiles
		break
	}
	return facts, nil
}

// refreshVolumes brings what the agent fills up to date while containers run.
// Where it can't, they keep what they have.
func (p *pass) refreshVolumes(ctx context.Context) {
	used := mountedVolumes(p.pod)
	for i := range p.pod.Spec.Volumes {
		v := &p.pod.Spec.Volumes[i]
		if !used[v.Name] || !isFilled(&v.VolumeSource) {
			continue
		}
		facts, err := p.volumeFacts(ctx)
		if err == nil {
			_, err = p.layout.makeFilled(facts, v)
		}
		if err != nil && ctx.Err() == nil {
			p.warn(p.state, objectOf(p.pod, ""), "FailedMount", (&volumeError{volume: v.Name, err: err}).Error())
		}
	}
}

// createSandbox makes the pod's sandbox and learns its addresses.
func (p *pass) createSandbox(ctx context.Context, attempt uint32) error {
	p.noteMedium()
	cfg := p.sandboxConfig(attempt)
	err := os.MkdirAll(cfg.LogDir, 0o755)
	if err == nil {
		p.acted()
		defer p.state.begin("its sandbox", "")()
		p.sandboxID, err = p.cfg.Backend.CreateSandbox(ctx, cfg)
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if err != nil {
		p.warn(p.state, objectOf(p.pod, ""), "FailedCreatePodSandBox", fmt.Sprintf("Failed to create pod sandbox: %v", err))
		return fmt.Errorf("create sandbox: %w", err)
	}
	s, err := p.cfg.Backend.SandboxStatus(ctx, p.sandboxID)
	if err != nil {
		if ctx.Err() == nil {
			p.warn(p.state, objectOf(p.pod, ""), "FailedPodSandBoxStatus", fmt.Sprintf("Unable to get pod sandbox status: %v", err))
		}
		return fmt.Errorf("status of the new sandbox: %w", err)
	}
	p.podIPs = s.IPs
	p.state.releaseHolds()
	return nil
}

func (p *pass) sandboxConfig(attempt uint32) runtime.SandboxConfig {
	cfg := runtime.SandboxConfig{
		PodRef:          p.ref,
		Attempt:         attempt,
		Hostname:        hostnameOf(p.pod),
		HostNetwork:     p.pod.Spec.HostNetwork,
		LogDir:          p.layout.podLogDir(p.ref),
		Labels:          sandboxLabels(p.pod, p.cfg.Owner),
		Annotations:     maps.Clone(p.pod.Annotations),
		SecurityContext: p.pod.Spec.SecurityContext,
	}
	if cfg.SecurityContext == nil {
		cfg.SecurityContext = &v1.PodSecurityContext{}
	}
	for i := range p.pod.Spec.Containers {
		cfg.Ports = append(cfg.Ports, p.pod.Spec.Containers[i].Ports...)
	}
	return cfg
}

// noteMedium tells the people who run the agent what an emptyDir does not get.
func (p *pass) noteMedium() {
	for i := range p.pod.Spec.Volumes {
		v := &p.pod.Spec.Volumes[i]
		if v.EmptyDir != nil && v.EmptyDir.Medium != v1.StorageMediumDefault {
			p.cfg.Logger.Warn("an emptyDir is on disk, whatever medium it asks for",
				"pod", p.ref.String(), "volume", v.Name, "medium", string(v.EmptyDir.Medium))
		}
	}
}
