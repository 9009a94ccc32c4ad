//go:build unix

package process

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// readContainers reads the records of a sandbox's containers. What is damaged
// is set aside and returned apart.
func (s *sandbox) readContainers() ([]keeper.Container, []error, error) {
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		return nil, nil, err
	}
	// What else is in the folder is none of theirs to judge.
	all, corrupt, err := records.ReadAll(keeper.ContainerPrefix)
	if err != nil {
		return nil, nil, err
	}
	var damaged []error
	for _, c := range corrupt {
		damaged = append(damaged, c)
	}
	var containers []keeper.Container
	for name, data := range all {
		c, err := decodeContainer(s.rec.ID, name, data)
		if err != nil {
			damaged = append(damaged, records.SetAside(name, err))
			continue
		}
		containers = append(containers, c)
	}
	return containers, damaged, nil
}

// write records a container in the place of a keeper that is gone.
func (s *sandbox) write(c *keeper.Container) error {
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return records.Write(keeper.ContainerPrefix+keeper.Suffix(c.ID), data)
}

// removeRemains removes a container whose keeper is gone.
func (s *sandbox) removeRemains(id string) error {
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		return err
	}
	if err := records.Remove(keeper.ContainerPrefix + keeper.Suffix(id)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(s.dir, keeper.HomePrefix+keeper.Suffix(id))); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.remains, id)
	return nil
}
