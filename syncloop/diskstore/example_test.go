package diskstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/diskstore"
)

// What one agent remembers of a pod, the next one reads.
func Example() {
	dir, _ := os.MkdirTemp("", "records")
	defer os.RemoveAll(dir)
	ctx := context.Background()
	open := func() *diskstore.Store {
		folder, err := checkpoint.Open(checkpoint.Config{Dir: dir, Policy: checkpoint.None})
		if err != nil {
			panic(err)
		}
		return diskstore.New(folder)
	}
	err := open().Commit(ctx, syncloop.Batch{Save: []syncloop.Record{{UID: "1234", Name: "web", Admitted: true}}})
	fmt.Println(err)
	records, err := open().Load(ctx)
	fmt.Println(records[0].Name, records[0].Admitted, err)
	// Output:
	// <nil>
	// web true <nil>
}
