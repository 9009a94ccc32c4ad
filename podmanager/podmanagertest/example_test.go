package podmanagertest_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// A scripted source says what it is told, and ends when that is said.
func ExampleSource() {
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	s := podmanagertest.NewSource()
	s.Set(web)
	s.Fail(fmt.Errorf("the disk is slow"))
	s.Remove(web)
	s.End(nil)
	_ = s.Run(context.Background(), func(r podmanager.Report) {
		fmt.Println(r.Op, len(r.Pods), r.Err)
	})
	// Output:
	// SET 1 <nil>
	//  0 the disk is slow
	// REMOVE 1 the disk is slow
}
