// Package podmanagertest has what tests of pod sources need: [Source], a source
// that says what it is told to; [MirrorClient], an API that holds mirror pods;
// [Objects], one that holds ConfigMaps or Secrets; and the rules that each
// [podmanager.PodSource], [podmanager.MirrorClient] and [podmanager.ObjectSource]
// keeps, see [TestSource], [TestMirrorClient] and [TestObjectSource].
//
//	func TestMySource(t *testing.T) {
//		podmanagertest.TestSource(t, podmanagertest.SourceSuite{
//			Open: func() (podmanagertest.World, error) { return newMyWorld() },
//		})
//	}
package podmanagertest
