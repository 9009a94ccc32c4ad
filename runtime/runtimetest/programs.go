package runtimetest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/conformance"
)

// Program is what makes a container behave in a certain way: an image, a
// command, or both. The zero value is for a behaviour that can't be had; the
// rules that need it are skipped, and say so.
type Program struct {
	Image         string
	Command, Args []string
}

// Programs are the behaviours that the suites ask a host for.
type Programs struct {
	// RunsForever runs until it is asked to stop, and ends within a second
	// then. It is required.
	RunsForever Program
	// Other does the same, and has another image.
	Other Program
	// ExitsWith ends by itself, soon, with an exit code.
	ExitsWith func(code int32) Program
	// IgnoresTerm runs until it is killed. Where logs can be read, it prints
	// a line with the word ready once it ignores being asked.
	IgnoresTerm Program
	// Prints prints a text, which has no line break, as one line, and ends.
	Prints func(text string) Program
	// CantStart is a container whose start fails.
	CantStart Program

	// ExecPrints is a command for Exec that prints a text as one line and ends
	// with an exit code. ExecHangs is one that runs until it is killed.
	// Both run in a container of RunsForever.
	ExecPrints func(text string, code int) []string
	ExecHangs  []string
}

// FakePrograms are for the fakes of this package.
func FakePrograms() Programs {
	program := func(s Script) Program { return Program{Image: "fake", Command: s.Command()} }
	return Programs{
		RunsForever: program(Script{}),
		Other:       Program{Image: "fake:other", Command: Script{}.Command()},
		ExitsWith:   func(code int32) Program { return program(ExitsWith(code)) },
		IgnoresTerm: program(Script{IgnoresTerm: true, Output: "ready\n"}),
		Prints:      func(text string) Program { return program(Script{Exits: true, Output: text + "\n"}) },
		CantStart:   program(Script{StartError: errors.New("scripted start error")}),
		ExecPrints: func(text string, code int) []string {
			return Script{Exits: true, ExitCode: int32(code), Output: text + "\n"}.Command()
		},
		ExecHangs: Script{}.Command(),
	}
}

// ShellPrograms are for engines whose containers have a POSIX shell at /bin/sh
// and its usual company. The image is passed on as it is, with a tag that makes
// another of it.
func ShellPrograms(image string) Programs {
	shell := func(script string) []string { return []string{"/bin/sh", "-c", script} }
	program := func(script string) Program { return Program{Image: image, Command: shell(script)} }
	return Programs{
		RunsForever: program("exec sleep 1000000"),
		Other:       Program{Image: image + ":other", Command: shell("exec sleep 1000000")},
		ExitsWith:   func(code int32) Program { return program(fmt.Sprintf("exit %d", code)) },
		IgnoresTerm: program(`trap "" TERM; echo ready; while :; do sleep 1; done`),
		Prints: func(text string) Program {
			return Program{Image: image, Command: append(shell(`printf '%s\n' "$1"`), "sh", text)}
		},
		CantStart: Program{Image: image, Command: []string{"/nonexistent/runtimetest"}},
		ExecPrints: func(text string, code int) []string {
			return append(shell(`printf '%s\n' "$1"; exit "$2"`), "sh", text, fmt.Sprint(code))
		},
		ExecHangs: shell("sleep 1000000"),
	}
}

// missing gives the error that skips a rule, unless the program can be had.
func (p Program) missing(what string) error {
	if p.Image == "" && len(p.Command) == 0 {
		return conformance.Skip("the host has no program that " + what)
	}
	return nil
}

// check gives an error unless there is what no suite can do without.
func (p Programs) check() error {
	if p.RunsForever.missing("") != nil {
		return errors.New("Programs.RunsForever of the harness is missing")
	}
	return nil
}

func (p Programs) exits(code int32) (Program, error) {
	if p.ExitsWith == nil {
		return Program{}, conformance.Skip("the host has no program that ends with an exit code")
	}
	return p.ExitsWith(code), nil
}

func (p Programs) prints(text string) (Program, error) {
	if p.Prints == nil {
		return Program{}, conformance.Skip("the host has no program that prints")
	}
	return p.Prints(text), nil
}

// container makes the spec of a container of a pod.
func (p Program) container(name string) v1.Container {
	return v1.Container{Name: name, Image: p.Image, Command: p.Command, Args: p.Args}
}
