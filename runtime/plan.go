package runtime

// Plan decides what one pass over a pod should do: which containers to start,
// kill and remove, and whether its sandbox must be replaced. It is the kubelet's
// computePodActions with what the kubelet decides on the way of carrying it out:
// back-off, restart counts, grace, what to remove. It is pure: equal input,
// equal actions. In-place resize is not part of it.
func Plan(in PlanInput) Actions { return Actions{} }
