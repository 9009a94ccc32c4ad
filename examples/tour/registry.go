package main

import "context"

// mechanism is one of the kubelet's mechanisms.
type mechanism struct {
	// name on the command line, and of its golden file.
	name string
	// line says what it is, for the list and the headline.
	line string
	// walk goes through it step by step.
	walk func(ctx context.Context, p *page) error
}

// text is the whole walk. It is valid beside an error, as far as it goes.
func (m mechanism) text(ctx context.Context) (string, error) {
	p := &page{}
	p.headline(m.name + ": " + m.line)
	err := m.walk(ctx, p)
	return p.String(), err
}

// chapter is a number of mechanisms that answer one question.
type chapter struct {
	title      string
	mechanisms []mechanism
}

// chapters are all that there is to see, in the order to read it.
var chapters = []chapter{
	{"All of it at once", []mechanism{
		{"new-pod", "the way of a new pod through the library", walkNewPod},
	}},
	{"What should run here? (package podmanager)", []mechanism{
		{"manifest", "a file becomes a static pod of this node", walkManifest},
		{"url", "pods from a URL, which may fail or have nothing new", walkURL},
		{"operations", "a whole list becomes ADD, UPDATE, DELETE, REMOVE, RECONCILE", walkOperations},
		{"restore", "pods out of a checkpoint, and which source counts as heard", walkRestore},
		{"checkpoints", "pods on disk, for an agent whose sources are down", walkCheckpoints},
		{"duplicates", "two pods of one name, two sources with one UID", walkDuplicates},
		{"silent-source", "an error or silence is not an empty list", walkSilentSource},
		{"mirrors", "a static pod and its picture in the API", walkMirrors},
		{"objects", "the ConfigMaps and Secrets that pods refer to", walkObjects},
	}},
	{"May it run here? (package admission)", []mechanism{
		{"admission", "checks in sequence, the first refusal decides", walkAdmission},
		{"rejection", "a refusal is final: phase Failed", walkRejection},
		{"retry", "a refusal for now: the pod waits for room", walkRetry},
		{"resize", "a running pod asks for other resources", walkResize},
		{"what-if", "a question to a fork of the ledger changes nothing", walkWhatIf},
		{"extended-resources", "devices that the node does not list", walkExtendedResources},
		{"node", "which node a pod is judged against, and what if there is none", walkNode},
		{"special-checks", "what a node can do at all: sysctls, AppArmor, its system", walkSpecialChecks},
		{"pressure", "a node that runs short keeps pods out; what is critical", walkPressure},
		{"preemption", "a critical pod takes the place of others", walkPreemption},
	}},
	{"Who must go when the node runs short? (package eviction)", []mechanism{
		{"eviction", "a round: conditions, the one pod that must go, the order and its reasons", walkEviction},
	}},
	{"What is to be done with its containers? (package runtime)", []mechanism{
		{"init-containers", "one after the other, then the rest", walkInitContainers},
		{"sidecars", "init containers that stay", walkSidecars},
		{"restart-policy", "what follows an exit", walkRestartPolicy},
		{"crash-loop", "back-off: 10 s, doubling, up to 5 minutes", walkCrashLoop},
		{"changed-spec", "another image restarts a container", walkChangedSpec},
		{"probes", "startup, readiness and liveness over time", walkProbes},
		{"liveness", "a failed liveness probe restarts a container", walkLiveness},
		{"images", "present, to be pulled, or to be waited for", walkImages},
		{"stop-order", "containers first, sidecars after them", walkStopOrder},
	}},
	{"Where is it in its life? (package syncloop/lifecycle)", []mechanism{
		{"life", "from the first event to the last", walkLife},
		{"grace", "a grace period only gets shorter", walkGrace},
		{"same-name", "static pods of one name run one after another", walkSameName},
		{"resync", "when a pod is looked at again although nothing happened", walkResync},
	}},
	{"What is said of it? (package syncloop/podstatus)", []mechanism{
		{"phases", "what the containers amount to", walkPhases},
		{"conditions", "initialized, ready, and since when", walkConditions},
		{"final-phase", "Succeeded and Failed are never left", walkFinalPhase},
	}},
	{"One event at a time (package syncloop)", []mechanism{
		{"step", "five channels, one event", walkStep},
		{"ready-channels", "when several are ready, any may be taken", walkReadyChannels},
		{"closed-channel", "the end of the config channel ends the loop", walkClosedChannel},
		{"unknown-operation", "SET and what nobody knows: reported, nothing else", walkUnknownOperation},
		{"additions", "oldest first, stored before they are judged", walkAdditions},
		{"relist", "events are hints, a list is the truth", walkRelist},
		{"clean-ups", "the five clean-ups", walkCleanUps},
		{"agent-restart", "a new agent adopts what runs", walkAgentRestart},
		{"shutdown", "to stop the pods is not to end the agent", walkShutdown},
	}},
}

// mechanisms are those of all chapters.
func mechanisms() []mechanism {
	var all []mechanism
	for _, c := range chapters {
		all = append(all, c.mechanisms...)
	}
	return all
}
