package podstatus

// ComputeUnguarded makes the status that the kubelet computes before it looks
// for transitions that can't be, which is what was recorded of it.
func ComputeUnguarded(in Input) Result {
	var b builder
	b.begin(in)
	b.compute(false)
	return b.finish()
}
