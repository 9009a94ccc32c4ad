// Package grpcprobe probes containers by gRPC's health protocol. It is a module of
// its own, so that nobody else links gRPC.
//
//	m, err := probe.NewManager(probe.Config{
//		Prober: probe.Probers{GRPC: &grpcprobe.Prober{}, Exec: &probe.Exec{Execer: rt}},
//	})
package grpcprobe
