//go:build !unix

package process

// signalNumber knows no signal on this system but the default.
func signalNumber(name string) (int, bool) { return 15, name == "" || name == "SIGTERM" }
