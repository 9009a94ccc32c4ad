//go:build linux

package process_test

// agentEnv makes the test program an agent on the root that it names.
const agentEnv = "KUBEPARTS_TEST_AGENT"

func runAgent(root string) {}
