package runtimetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// Script is how one instance of a container behaves in [Fake] and
// [FakeBackend]. The zero value runs until it is asked to stop, and then ends
// at once with exit code 0.
type Script struct {
	// Exits makes it end by itself, RunFor after its start, with ExitCode and
	// Reason. A RunFor of zero ends it within the call that starts it.
	Exits    bool
	RunFor   time.Duration
	ExitCode int32
	// Reason is Completed or Error, by the exit code, unless given.
	Reason string
	// Message is what it leaves as its last words.
	Message string

	// IgnoresTerm makes it run on until its grace is over; it is killed then.
	IgnoresTerm bool
	// StopAfter is how long it takes to end once it is asked to.
	StopAfter time.Duration
	// StopCode is its exit code when it ends because it was asked to.
	StopCode int32

	// StartError makes its start fail.
	StartError error
	// StartDelay is how long its start takes; the call that starts it waits.
	StartDelay time.Duration

	// Output is what it prints at its start.
	Output string
}

// Instance is the container that a [ScriptFunc] is asked about.
type Instance struct {
	Pod       runtime.PodRef
	Container string
	Image     string
	Command   []string
	Args      []string
	// Attempt counts the instances of this name from 0.
	Attempt uint32
	// Init tells that it is an init container which must end for the next one
	// to start, or a hook. FakeBackend is not told, and leaves it unset.
	Init bool
	// Config is all that FakeBackend was told; nil in Fake.
	Config *runtime.ContainerConfig
}

// ScriptFunc chooses the behaviour of each instance at its start. It does not
// block, and may be called from several goroutines.
type ScriptFunc func(Instance) Script

// ByCommand is the ScriptFunc that the fakes use unless they are given another.
// A container whose command was made by [Script.Command] behaves as that script
// says. All others run until they are stopped, save plain init containers, which
// end at once with exit code 0 in a [Fake]. A [FakeBackend] does not know init
// containers from others: give them the command of ExitsWith(0).
func ByCommand(i Instance) Script {
	if s, err := ParseScript(i.Command); err == nil {
		return s
	}
	return Script{Exits: i.Init}
}

// ByName chooses by the name of the container. Names that are not in the map
// behave as [ByCommand] says.
func ByName(scripts map[string]Script) ScriptFunc {
	return func(i Instance) Script {
		if s, ok := scripts[i.Container]; ok {
			return s
		}
		return ByCommand(i)
	}
}

// ExitsWith is the script of a container that ends at once.
func ExitsWith(code int32) Script { return Script{Exits: true, ExitCode: code} }

// RunsFor is the script of a container that runs for a time and then ends.
func RunsFor(d time.Duration, code int32) Script {
	return Script{Exits: true, RunFor: d, ExitCode: code}
}

// commandName is the first word of a command that carries a script.
const commandName = "runtimetest"

// Command writes the script as the command of a container, so that a manifest
// carries the behaviour of its containers. Reason, Message and the text of
// StartError and Output survive as they are.
func (s Script) Command() []string {
	c := []string{commandName}
	add := func(on bool, key, value string) {
		if on {
			c = append(c, key+"="+value)
		}
	}
	code := func(n int32) string { return strconv.Itoa(int(n)) }
	add(s.Exits, "exit", code(s.ExitCode))
	add(s.RunFor != 0, "run-for", s.RunFor.String())
	add(s.Reason != "", "reason", s.Reason)
	add(s.Message != "", "message", s.Message)
	add(s.IgnoresTerm, "ignore-term", "true")
	add(s.StopAfter != 0, "stop-after", s.StopAfter.String())
	add(s.StopCode != 0, "stop-code", code(s.StopCode))
	add(s.StartDelay != 0, "start-delay", s.StartDelay.String())
	add(s.Output != "", "print", s.Output)
	if s.StartError != nil {
		add(true, "start-error", s.StartError.Error())
	}
	return c
}

// ParseScript reads what [Script.Command] wrote. The error names the word that
// is wrong.
func ParseScript(command []string) (Script, error) {
	var s Script
	if len(command) == 0 || command[0] != commandName {
		return s, errors.New("not a command of package runtimetest")
	}
	for _, word := range command[1:] {
		key, value, _ := strings.Cut(word, "=")
		if err := s.set(key, value); err != nil {
			return Script{}, fmt.Errorf("script %q: %w", word, err)
		}
	}
	return s, nil
}

func (s *Script) set(key, value string) (err error) {
	switch key {
	case "exit":
		s.Exits = true
		s.ExitCode, err = parseCode(value)
	case "run-for":
		s.RunFor, err = time.ParseDuration(value)
	case "reason":
		s.Reason = value
	case "message":
		s.Message = value
	case "ignore-term":
		s.IgnoresTerm, err = strconv.ParseBool(value)
	case "stop-after":
		s.StopAfter, err = time.ParseDuration(value)
	case "stop-code":
		s.StopCode, err = parseCode(value)
	case "start-delay":
		s.StartDelay, err = time.ParseDuration(value)
	case "print":
		s.Output = value
	case "start-error":
		s.StartError = errors.New(value)
	default:
		err = errors.New("unknown word")
	}
	return err
}

func parseCode(value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	return int32(n), err
}
