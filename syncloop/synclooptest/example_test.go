package synclooptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// fileStore is a store in one file, which each commit writes anew: fit for the
// pods of one node.
type fileStore struct {
	path    string
	records map[types.UID]syncloop.Record
}

func openFileStore(path string) (*fileStore, error) {
	s := &fileStore{path: path, records: map[types.UID]syncloop.Record{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	return s, json.Unmarshal(text, &s.records)
}

func (s *fileStore) Load(context.Context) ([]syncloop.Record, error) {
	return slices.Collect(maps.Values(s.records)), nil
}

func (s *fileStore) Commit(_ context.Context, b syncloop.Batch) error {
	for _, r := range b.Save {
		s.records[r.UID] = r
	}
	for _, uid := range b.Delete {
		delete(s.records, uid)
	}
	text, err := json.Marshal(s.records)
	if err != nil {
		return err
	}
	return replaceFile(s.path, text)
}

// replaceFile has the file be the old or the new one, whatever happens.
func replaceFile(path string, text []byte) error {
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Whoever writes a store of their own has it checked like this.
func TestFileStoreKeepsTheRules(t *testing.T) {
	synclooptest.TestStore(t, func(t *testing.T) synclooptest.OpenStore {
		path := filepath.Join(t.TempDir(), "pods.json")
		return func() (syncloop.Store, error) { return openFileStore(path) }
	})
}

// The same rules, where there is no test: the error joins one for each that is broken.
func ExampleCheckStore() {
	folder, err := os.MkdirTemp("", "pods")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	places := 0
	err = synclooptest.CheckStore(context.Background(), func() synclooptest.OpenStore {
		places++
		path := filepath.Join(folder, fmt.Sprint(places))
		return func() (syncloop.Store, error) { return openFileStore(path) }
	})
	fmt.Println("a file:", err)

	forgetful := func() (syncloop.Store, error) { return &synclooptest.Store{}, nil }
	err = synclooptest.CheckStore(context.Background(), func() synclooptest.OpenStore { return forgetful })
	var broken *synclooptest.RuleError
	if errors.As(err, &broken) { // the first of them
		fmt.Println("memory that each agent begins anew breaks", broken.Name)
	}
	// Output:
	// a file: <nil>
	// memory that each agent begins anew breaks durable
}
