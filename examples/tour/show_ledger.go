package main

import (
	"fmt"

	"github.com/kubeparts/kubeparts/admission"
)

// showLedger prints what the pods in a ledger take.
func showLedger(l *admission.Ledger) string {
	used := l.Used()
	return fmt.Sprintf("pods %d, cpu %dm, memory %d bytes", l.Pods(), used.MilliCPU, used.Memory)
}
