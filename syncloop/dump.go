package syncloop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// dumpPod is a pod of a dump. It has no spec, whose environment may hold
// secrets.
type dumpPod struct {
	Namespace        string          `json:"namespace"`
	Name             string          `json:"name"`
	UID              types.UID       `json:"uid"`
	Source           string          `json:"source,omitempty"`
	Admitted         bool            `json:"admitted"`
	Refused          string          `json:"refused,omitempty"`
	Waiting          string          `json:"waiting,omitempty"`
	WaitingSince     time.Time       `json:"waitingSince,omitzero"`
	Stage            lifecycle.Stage `json:"stage,omitempty"`
	Work             lifecycle.Work  `json:"work,omitempty"`
	WorkSince        time.Time       `json:"workSince,omitzero"`
	Pending          bool            `json:"pending,omitempty"`
	Failures         int             `json:"failures,omitempty"`
	Doing            []runtime.Doing `json:"doing,omitempty"`
	RetryAt          time.Time       `json:"retryAt,omitzero"`
	TerminatingSince time.Time       `json:"terminatingSince,omitzero"`
	Deadline         time.Time       `json:"deadline,omitzero"`
	LastError        string          `json:"lastError,omitempty"`
	Status           *v1.PodStatus   `json:"status,omitempty"`
	// Probes are sentences, as those of Explain.
	Probes []string `json:"probes,omitempty"`
}

// dumpLedger is what the ledger of a dump holds.
type dumpLedger struct {
	Pods  int                `json:"pods"`
	Used  admission.Requests `json:"used"`
	Error string             `json:"error,omitempty"`
}

// ledgerWait is how long a dump waits for the loop to look at its ledger.
const ledgerWait = time.Second

// Dump writes all that the loop knows as one JSON object: health, ledger, what
// Config.Parts know and, for each pod, source, admission, stage, work, timers, last
// error, status and probes. It goes by snapshots and does not hold up the loop; a loop
// that is stuck leaves the ledger out. Specs are left out, for they may hold secrets.
func (l *SyncLoop) Dump(w io.Writer) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	part := func(name string, v any) {
		fmt.Fprintf(out, "%q: ", name)
		_ = enc.Encode(v) // out keeps the error
		out.WriteString(", ")
	}
	out.WriteString("{")
	part("time", time.Now())
	part("health", l.Health())
	if l.cfg.Admission != nil {
		part("ledger", l.dumpLedger())
	}
	part("parts", l.dumpParts())
	out.WriteString(`"pods": [`)
	for i, v := range l.Pods() {
		if i > 0 {
			out.WriteString(", ")
		}
		d := dumpOf(v)
		d.Doing, d.Probes = l.doing(v.UID), l.explainProbes(v.UID)
		if err := enc.Encode(d); err != nil {
			return err
		}
	}
	out.WriteString("]}\n")
	return out.Flush()
}

func dumpOf(v *PodView) dumpPod {
	d := dumpPod{
		Namespace: v.Namespace, Name: v.Name, UID: v.UID, Source: v.Source,
		Admitted: v.Admitted, Waiting: v.Waiting, WaitingSince: v.WaitingSince,
		Stage: v.Stage, Work: v.Work, WorkSince: v.WorkSince, RetryAt: v.RetryAt,
		Pending: v.Pending, Failures: v.Failures,
		TerminatingSince: v.TerminatingSince, Deadline: v.Deadline, Status: v.Status,
	}
	if v.Refused != nil {
		d.Refused = v.Refused.Reason + ": " + v.Refused.Message
	}
	if v.LastError != nil {
		d.LastError = v.LastError.Error()
	}
	return d
}

// dumpLedger has the loop look at its ledger, which nobody else may do.
func (l *SyncLoop) dumpLedger() dumpLedger {
	answer := make(chan dumpLedger, 1)
	look := func() {
		ledger := l.cfg.Admission.Ledger
		answer <- dumpLedger{Pods: ledger.Pods(), Used: ledger.Used()}
	}
	if !l.running.Load() {
		look()
		return <-answer
	}
	l.inbox.post(look)
	timer := time.NewTimer(ledgerWait)
	defer timer.Stop()
	select {
	case a := <-answer:
		return a
	case <-l.over:
		look()
		return <-answer
	case <-timer.C:
		return dumpLedger{Error: "the loop did not look at it within " + ledgerWait.String()}
	}
}
