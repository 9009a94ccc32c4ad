package probe

import (
	"context"
	"errors"
)

// Probers is a [Prober] that hands each target to the one for its action.
type Probers struct {
	// HTTP and TCP are the probers for HTTPGet and TCPSocket; nil is the one
	// of this package, with its defaults.
	HTTP, TCP Prober
	// Exec is the prober for commands, as a rule an *[Exec]; nil answers with
	// an error.
	Exec Prober
	// GRPC is the prober for gRPC, as a rule that of package grpcprobe, a
	// module of its own; nil answers with an error.
	GRPC Prober
}

// Probe implements [Prober].
func (p Probers) Probe(ctx context.Context, target Target) (Response, error) {
	a := &target.Action
	prober := Prober(nil)
	kind := ""
	switch {
	case a.Exec != nil:
		prober, kind = p.Exec, "exec"
	case a.HTTPGet != nil:
		if prober = p.HTTP; prober == nil {
			prober = defaultHTTP
		}
	case a.TCPSocket != nil:
		if prober = p.TCP; prober == nil {
			prober = defaultTCP
		}
	case a.GRPC != nil:
		prober, kind = p.GRPC, "grpc"
	default:
		return Response{Result: Unknown}, errors.New("missing probe handler: the probe has no action")
	}
	if prober == nil {
		return Response{Result: Unknown}, errors.New("no prober for " + kind + " actions")
	}
	return prober.Probe(ctx, target)
}

var (
	defaultHTTP = new(HTTP)
	defaultTCP  = new(TCP)
)
