package checkpoint_test

import (
	"context"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// An agent writes down what its source wants. The next one knows it although the
// source is silent.
func ExampleFolder() {
	dir, _ := os.MkdirTemp("", "checkpoints")
	defer os.RemoveAll(dir)
	agent := func(source podmanager.PodSource) {
		folder, err := checkpoint.Open(checkpoint.Config{Dir: dir, Policy: checkpoint.All})
		if err != nil {
			fmt.Println(err)
			return
		}
		pods, err := podmanager.NewPodConfig(podmanager.Config{
			Sources:     folder.Sources(map[string]podmanager.PodSource{"http": source}),
			Checkpoints: folder,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- pods.Run(ctx) }()
		u := <-pods.Updates()
		fmt.Println(u.Op, u.Source, u.Pods[0].Name, "heard:", u.Op != podmanager.OpRestore)
		cancel()
		<-ended
	}

	web := &v1.Pod{}
	web.Name, web.Namespace, web.UID = "web", "default", "uid-web"
	up, down := podmanagertest.NewSource(), podmanagertest.NewSource()
	up.Set(web)
	agent(up)
	agent(down)
	// Output:
	// ADD http web heard: true
	// RESTORE http web heard: false
}
