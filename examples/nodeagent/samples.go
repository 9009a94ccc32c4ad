package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// samples are the pods that run when no manifests are named. They need nothing
// but /bin/sh and this program, for which the word NODEAGENT stands in them.
//
//go:embed samples/*.yaml
var samples embed.FS

// writeSamples puts the samples into root and returns their folder. The program
// goes there too, under a path that is the same in each run (go run's is not),
// because a static pod's identity depends on its content.
func writeSamples(root string) (string, error) {
	self := filepath.Join(root, "bin", "nodeagent")
	if err := copySelf(self); err != nil {
		return "", fmt.Errorf("copy this program to %s: %w", self, err)
	}
	quoted, err := json.Marshal(self)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "samples")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	names, err := fs.Glob(samples, "samples/*.yaml")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		data, err := samples.ReadFile(name)
		if err != nil {
			return "", err
		}
		data = bytes.ReplaceAll(data, []byte("NODEAGENT"), quoted)
		if err := replaceFile(filepath.Join(root, name), bytes.NewReader(data), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func copySelf(to string) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	self, err := os.Open(path)
	if err != nil {
		return err
	}
	defer self.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return replaceFile(to, self, 0o700)
}

// replaceFile writes beside the path and renames, so that a program that runs
// keeps its file and a reader never sees half of one.
func replaceFile(path string, from io.Reader, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := io.Copy(tmp, from); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Chmod(mode); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
