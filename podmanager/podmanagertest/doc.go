// Package podmanagertest has what tests of pod sources need: [Source], a source
// that says what it is told to; [MirrorClient], an API that holds mirror pods;
// and the rules that each [podmanager.PodSource] and [podmanager.MirrorClient]
// keeps, see [TestSource] and [TestMirrorClient].
//
//	func TestMySource(t *testing.T) {
//		podmanagertest.TestSource(t, podmanagertest.SourceSuite{
//			Open: func() (podmanagertest.World, error) { return newMyWorld() },
//		})
//	}
package podmanagertest
