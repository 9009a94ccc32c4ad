//go:build unix && !linux

package process

func realtimeSignal(string) (int, bool) { return 0, false }
