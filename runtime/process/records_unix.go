//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	names, err := records.List()
	if err != nil {
		return nil, nil, err
	}
	var containers []keeper.Container
	var damaged []error
	for _, name := range names {
		if !strings.HasPrefix(name, keeper.ContainerPrefix) {
			continue // what else is in the folder is none of ours to judge
		}
		c, err := s.readContainer(records, name)
		var corrupt *durable.CorruptError
		switch {
		case err == nil:
			containers = append(containers, c)
		case errors.As(err, &corrupt):
			damaged = append(damaged, err)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, nil, err
		}
	}
	return containers, damaged, nil
}

func (s *sandbox) readContainer(records *durable.Folder, name string) (keeper.Container, error) {
	data, err := records.Read(name)
	if err != nil {
		return keeper.Container{}, err
	}
	c, err := decodeContainer(s.rec.ID, name, data)
	if err != nil {
		return c, records.SetAside(name, err)
	}
	return c, nil
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
