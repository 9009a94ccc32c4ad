package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// samples are the pods that run when no manifests are named, and the objects that
// they refer to. They need nothing but /bin/sh and this program, for which the
// word NODEAGENT stands in them.
//
//go:embed samples/*.yaml sample-objects/*.yaml
var samples embed.FS

// withSamples is the options with the samples for what is to run, if they name
// nothing.
func (o options) withSamples() (options, error) {
	if o.manifests != "" || o.manifestURL != "" {
		return o, nil
	}
	dir, err := writeSamples(o.root)
	if err != nil {
		return o, fmt.Errorf("samples: %w", err)
	}
	o.manifests = dir
	if o.objects == "" {
		o.objects = filepath.Join(o.root, "sample-objects")
	}
	return o, nil
}

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
	err = fs.WalkDir(samples, ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(root, name)
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.MkdirAll(path, 0o700))
		}
		data, err := samples.ReadFile(name)
		if err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte("NODEAGENT"), quoted)
		return replaceFile(path, bytes.NewReader(data), 0o600)
	})
	return filepath.Join(root, "samples"), err
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
