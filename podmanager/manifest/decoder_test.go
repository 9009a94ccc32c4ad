package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

const smallest = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: busybox}]}\n"

func podList(items ...string) string {
	return "apiVersion: v1\nkind: PodList\nitems: [" + strings.Join(items, ", ") + "]\n"
}

const goodItem = "{metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}"

// The first step that refuses a manifest gives its kind.
func TestKindOfRefusal(t *testing.T) {
	const (
		decode     = podmanager.ManifestDecode
		notAPod    = podmanager.ManifestNotAPod
		noName     = podmanager.ManifestNoName
		validation = podmanager.ManifestValidation
		apiRef     = podmanager.ManifestAPIReference
	)
	for _, tc := range []struct {
		name, source, manifest string
		want                   podmanager.ManifestErrorKind
		text                   string
	}{
		{"empty", "file", "", decode, "kind is missing"},
		{"blanks and comments", "file", " \n# nothing\n", decode, "kind is missing"},
		{"a word", "file", "hello", decode, "it holds no object, but one string"},
		{"a list of values", "file", "[1, 2]", decode, "it holds no object, but one array"},
		{"an empty first document", "file", "---\n---\n" + smallest, decode, "kind is missing"},
		{"half of a file", "file", smallest[:len(smallest)-8], decode, "line"},
		{"half of a JSON file", "file", `{"apiVersion":"v1","kind":"Pod","metadata":{"na`, decode, "unexpected end"},
		{"a tab", "file", "apiVersion: v1\n\tkind: Pod", decode, "line 2"},
		{"no kind", "file", "apiVersion: v1\nmetadata: {name: x}", decode, "kind is missing"},
		{"a page of a web server", "http", "<html>login</html>", decode, "it holds no object, but one string"},
		{"a kind that is none", "file", "apiVersion: v1\nkind: 5", decode, "number instead of string"},
		{"no apiVersion", "file", "kind: Pod\nmetadata: {name: x}", decode, "apiVersion is missing"},
		{"unknown kind", "file", "apiVersion: v1\nkind: Pud", decode, `kind "Pud" of apiVersion "v1" is not known`},
		{"unknown version", "file", "apiVersion: v9\nkind: Pod", decode, `kind "Pod" of apiVersion "v9" is not known`},
		{"another group", "file", "apiVersion: apps/v1\nkind: Deployment", decode, "apps/v1"},
		{"kind in small letters", "file", "apiVersion: v1\nkind: pod", decode, `"pod"`},
		{"a string for a list", "file", strings.Replace(smallest, "[{name: main, image: busybox}]", "main", 1), decode, "containers"},
		{"a string for a number", "file", pod("terminationGracePeriodSeconds: '5'"), decode, "terminationGracePeriodSeconds"},
		{"a fraction for a number", "file", pod("terminationGracePeriodSeconds: 1.5"), decode, "terminationGracePeriodSeconds"},
		{"a number beyond its size", "file", pod("priority: 3000000000"), decode, "priority"},
		{"a number for a string", "file", pod("nodeSelector: {a: 1}"), decode, "nodeSelector"},
		{"a bad quantity", "file", container("resources: {limits: {cpu: lots}}"), decode, "quantities must match"},
		{"a bad time", "file", metadata("creationTimestamp: yesterday"), decode, "yesterday"},
		{"a bad value of a missing name", "file", "apiVersion: v1\nkind: Pod\nspec: {containers: x}", decode, ""},
		{"a Service", "file", "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}", notAPod, "a v1 Pod is wanted, not a v1 Service"},
		{"a Service that can't be decoded", "file", "apiVersion: v1\nkind: Service\nspec: 5", decode, ""},
		{"a ReplicationController", "file", "apiVersion: v1\nkind: ReplicationController", notAPod, ""},
		{"a PodList in a file", "file", podList(goodItem), notAPod, "PodList"},
		{"a v1 List", "http", "apiVersion: v1\nkind: List\nitems: []", notAPod, "Pod or PodList is wanted"},
		{"no name", "file", "apiVersion: v1\nkind: Pod\nspec: {}", noName, "name is needed"},
		{"no name before all other faults", "file", "apiVersion: v1\nkind: Pod\nspec: {serviceAccountName: A_}", noName, ""},
		{"a bad field before a reference", "file", pod("serviceAccountName: a, restartPolicy: X"), validation, "spec.restartPolicy"},
		{"a reference", "file", pod("serviceAccountName: a"), apiRef, "static pods may not reference serviceaccounts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Decoder{Source: tc.source, NodeName: "n"}.Decode([]byte(tc.manifest), "/m/f.yaml")
			require.Empty(t, r.Pods)
			require.Len(t, r.Errors, 1)
			require.Equal(t, tc.want, r.Errors[0].Kind, r.Errors[0])
			require.ErrorContains(t, r.Errors[0], tc.text)
			require.True(t, strings.HasPrefix(r.Errors[0].Error(), "/m/f.yaml: "))
		})
	}
}

func TestSizeLimit(t *testing.T) {
	padded := func(size int) []byte { return []byte(smallest + strings.Repeat("#", size-len(smallest))) }
	d := Decoder{NodeName: "n"}
	r := d.Decode(padded(MaxBytes), "f")
	require.Len(t, r.Errors, 1)
	require.Equal(t, podmanager.ManifestRead, r.Errors[0].Kind)
	require.Len(t, d.Decode(padded(MaxBytes-1), "f").Pods, 1)
	lines := smallest + strings.Repeat("#\n", (MaxBytes-len(smallest)-1)/2)
	require.Len(t, d.Decode([]byte(lines), "f").Pods, 1)
}

// Whatever a manifest holds, it is refused soon and with little memory. The
// bounds are far above what is needed, and far below what a bomb takes.
func TestHostileManifests(t *testing.T) {
	laughs := "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	long := "s: &s " + strings.Repeat("x", 1<<20) + "\nl: [" + strings.TrimSuffix(strings.Repeat("*s, ", 100_000), ", ") + "]\n"
	for _, tc := range []struct{ name, manifest, text string }{
		{"a billion laughs", laughs + smallest, "excessive aliasing"},
		{"one long scalar, many times", smallest + long, "aliases"},
		{"an alias of itself", "a: &a [*a]\n" + smallest, "contains itself"},
		{"deep flow sequences", strings.Repeat("[", 1<<20), "depth"},
		{"deep flow mappings", "a: " + strings.Repeat("{a: ", 1<<20), "depth"},
		{"deep JSON", `{"a":` + strings.Repeat("[", 1<<19), "depth"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\xff\xfe", ""},
		{"zeros", strings.Repeat("\x00", 1<<20), ""},
		{"UTF-16", "\xff\xfea\x00:\x00 \x001\x00", ""},
		{"very many keys", "a:\n" + strings.Repeat(" - b\n", 1<<18), "kind is missing"},
		{"five million values", "a: [" + strings.Repeat("b,", 5<<20-10) + "]", "too many values"},
		{"a third of a million objects", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[` + strings.Repeat("{},", 1<<18) + `{}]}}`, "too many"},
		{"very many objects", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[` + strings.Repeat("{},", 1<<16) + `{}]}}`, "spec.containers: Too many: 65537: must have at most 1000 items"},
		{"a thousand containers and one", pod("initContainers: [{}], containers: [" + strings.Repeat("{}, ", 1000) + "]"), "spec.containers: Too many: 1001"},
		{"a kind of a megabyte", "apiVersion: v1\nkind: " + strings.Repeat("P", 1<<20), "is not known"},
		{"a name of a megabyte", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + strings.Repeat("P", 1<<20) + "}", "metadata.name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			r := Decoder{NodeName: "n"}.Decode([]byte(tc.manifest), "f")
			require.Less(t, time.Since(begin), 10*time.Minute)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3<<30))
			require.Len(t, r.Errors, 1)
			require.ErrorContains(t, r.Errors[0], tc.text)
			require.Less(t, len(r.Errors[0].Error()), 8<<10)
		})
	}
}

func TestManyErrorsAreBounded(t *testing.T) {
	r := Decoder{NodeName: "n"}.Decode([]byte(pod("containers: ["+strings.Repeat("{}, ", 1000)+"]")), "f")
	require.Len(t, r.Errors, 1)
	require.ErrorContains(t, r.Errors[0], "more")
	require.Less(t, len(r.Errors[0].Error()), 16<<10)
}

// Env values may be secrets: they are in no error and no warning.
func TestNoValueIsRepeated(t *testing.T) {
	const secret = "hunter2"
	for _, manifest := range []string{
		`{metadata: {name: a}, spec: {containers: [{env: [{name: A, value: ` + secret + `}]}]}}`,
		"metadata: {name: a}\nspec: {containers: [{env: [{name: A, value: " + secret + "}]}]}",
		container(`env: [{name: "=", value: ` + secret + `, valueFrom: {fieldRef: {fieldPath: x}}}]`),
		container(`env: [{name: A, value: ` + secret + `, value: other, valeu: ` + secret + `}]`),
		container(`env: [{name: A, value: [` + secret + `]}]`),
		container(`env: [{name: A, value: ` + secret),
	} {
		r := Decoder{NodeName: "n"}.Decode([]byte(manifest), "f")
		for _, err := range r.Errors {
			require.NotContains(t, err.Error(), secret)
		}
		require.NotContains(t, strings.Join(r.Warnings, "\n"), secret)
	}
}

func TestWarnings(t *testing.T) {
	for _, tc := range []struct {
		name, manifest string
		want           []string
	}{
		{"none", smallest, nil},
		{"leading and trailing markers", "# c\n---\n" + smallest + "---\n# no more\n", nil},
		{"a block that holds a marker", "a: |\n  ---\n  x\n" + smallest, []string{`f: passed over: unknown field "a"`}},
		{"a further document", smallest + "---\n" + smallest, []string{"f: only the first of several YAML documents is read"}},
		{"a key twice", smallest + "kind: Pod\n", []string{`f: the last value counts: line 5: key "kind" already set in map`}},
		{"a JSON key twice", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","name":"b"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
			[]string{`f: the last value counts: duplicate field "metadata.name"`}},
		{"a merge key", "x: &x {name: b}\n" + strings.Replace(smallest, "{name: web}", "{<<: *x, labels: {a: b}}", 1), []string{`f: passed over: unknown field "x"`}},
		{"unknown fields", pod("notAField: 1, containers: [{name: c, image: i, alsoNot: x}]") + "mine: 2\n", []string{
			"f: the last value counts: line 4: key \"containers\" already set in map",
			`f: passed over: unknown field "mine", unknown field "spec.containers[0].alsoNot", unknown field "spec.notAField"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Decoder{NodeName: "n"}.Decode([]byte(tc.manifest), "f")
			require.Empty(t, r.Errors)
			require.ElementsMatch(t, tc.want, r.Warnings)
		})
	}
}

func TestLastKeyCounts(t *testing.T) {
	r := Decoder{NodeName: "n"}.Decode([]byte("metadata: {name: first}\n"+smallest), "f")
	require.Equal(t, "web-n", r.Pods[0].Name)
}

// The kubelet refuses a list for one bad item.
func TestBadItemOfAListIsRefusedAlone(t *testing.T) {
	d := Decoder{Source: podmanager.SourceHTTP, NodeName: "n"}
	r := d.Decode([]byte(podList(
		goodItem,
		"{metadata: {name: b, namespace: ns}, spec: {containers: 5}}",
		"{metadata: {labels: {a: b}}, spec: {}}",
		"{metadata: {name: d}, spec: {}}",
		"null",
		"{kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}",
		"{metadata: {name: e}, spec: {serviceAccountName: x, containers: [{name: c, image: i}]}}",
		"{metadata: {name: z}, spec: {containers: [{name: c, image: i, odd: 1}]}}",
	)), "http://h/p")
	require.True(t, r.List)
	require.Len(t, r.Pods, 2)
	require.Equal(t, "a-n", r.Pods[0].Name)
	require.Equal(t, "z-n", r.Pods[1].Name)
	require.Contains(t, r.Warnings, `http://h/p: items[7]: passed over: unknown field "spec.containers[0].odd"`)
	require.Contains(t, r.Warnings, `http://h/p: items[5]: kind "Service" is read as a Pod, being an item of a PodList`)

	var kinds []podmanager.ManifestErrorKind
	for _, err := range r.Errors {
		kinds = append(kinds, err.Kind)
	}
	require.Equal(t, []podmanager.ManifestErrorKind{podmanager.ManifestDecode, podmanager.ManifestNoName, podmanager.ManifestValidation,
		podmanager.ManifestNoName, podmanager.ManifestValidation, podmanager.ManifestAPIReference}, kinds)
	require.Equal(t, "ns/b", r.Errors[0].Pod)
	require.ErrorContains(t, r.Errors[0], "items[1]: ")

	empty := d.Decode([]byte(podList()), "http://h/p")
	require.True(t, empty.List)
	require.Empty(t, empty.Errors)
}

func TestListThatIsNone(t *testing.T) {
	d := Decoder{Source: podmanager.SourceHTTP, NodeName: "n"}
	long := d.Decode([]byte(podList(strings.Repeat("0, ", maxItems)+"0")), "u")
	require.Len(t, long.Errors, 1)
	require.ErrorContains(t, long.Errors[0], "too many items")
	r := d.Decode([]byte("apiVersion: v1\nkind: PodList\nitems: {a: b}"), "u")
	require.Equal(t, podmanager.ManifestDecode, r.Errors[0].Kind)
	require.False(t, r.List)
}

// Equal inputs have equal UIDs, and whatever tells two pods apart tells their
// UIDs apart.
func TestStatusInAManifestIsNobodysWord(t *testing.T) {
	r := Decoder{NodeName: "n"}.Decode([]byte(smallest+`
status:
  phase: Running
  qosClass: Guaranteed
  reason: "\e[2J"
  podIP: 169.254.169.254
  startTime: 1900-01-01T00:00:00Z
  allocatedResources: {cpu: 1m}
  containerStatuses: [{name: c, image: "", imageID: "", ready: true, restartCount: 2147483647}]
`), "/a")
	require.Empty(t, r.Errors)
	require.Equal(t, v1.PodStatus{Phase: v1.PodPending}, r.Pods[0].Status)
}

func TestUID(t *testing.T) {
	uid := func(d Decoder, manifest, origin string) string {
		r := d.Decode([]byte(manifest), origin)
		require.Empty(t, r.Errors)
		require.Len(t, r.Pods[0].UID, 32)
		require.Equal(t, string(r.Pods[0].UID), r.Pods[0].Annotations[podmanager.AnnotationHash])
		return string(r.Pods[0].UID)
	}
	file, other := Decoder{NodeName: "n"}, Decoder{NodeName: "m"}
	url, otherURL := Decoder{Source: podmanager.SourceHTTP, NodeName: "n"}, Decoder{Source: podmanager.SourceHTTP, NodeName: "m"}

	base := uid(file, smallest, "/a")
	require.Equal(t, base, uid(file, smallest, "/a"))
	require.Equal(t, base, uid(file, "# a comment\n"+strings.ReplaceAll(smallest, "busybox", "'busybox'"), "/a"), "form does not count")
	require.NotEqual(t, base, uid(file, strings.ReplaceAll(smallest, "busybox", "other"), "/a"), "content counts")
	require.NotEqual(t, base, uid(file, smallest, "/b"), "the path counts")
	require.NotEqual(t, base, uid(other, smallest, "/a"), "the node counts")

	require.NotEqual(t, base, uid(url, smallest, "/a"))
	require.Equal(t, uid(url, smallest, "u"), uid(otherURL, smallest, "u"), "the node of a URL does not count")
	require.NotEqual(t, uid(url, smallest, "u"), uid(url, smallest, "v"), "the URL counts")

	// A golden value: this hash must not change with a release.
	require.Equal(t, "0b9cf2837ec6625a695f0fdfb39a1f70", base)
}

// The kubelet writes a given UID into the hash's annotation, so that nothing
// shows that the content changed.
func TestHashOfAPodWithUIDIsOfItsContent(t *testing.T) {
	hash := func(image string) (string, string) {
		r := Decoder{NodeName: "n"}.Decode([]byte(strings.Replace(metadata("uid: mine"), "image: i", "image: "+image, 1)), "f")
		require.Empty(t, r.Errors)
		return string(r.Pods[0].UID), r.Pods[0].Annotations[podmanager.AnnotationHash]
	}
	uid1, hash1 := hash("a")
	uid2, hash2 := hash("b")
	require.Equal(t, "mine", uid1)
	require.Equal(t, uid1, uid2)
	require.Len(t, hash1, 32)
	require.NotEqual(t, hash1, hash2)
}

func TestTolerations(t *testing.T) {
	all := v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
	keyed := v1.Toleration{Key: "k", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
	for _, tc := range []struct {
		manifest string
		want     []v1.Toleration
	}{
		{smallest, []v1.Toleration{all}},
		{pod("tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 5}]"), []v1.Toleration{all}},
		{pod("tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: k, operator: Exists, effect: NoExecute}]"), []v1.Toleration{all, keyed}},
		{pod("tolerations: [{key: k, operator: Exists, effect: NoExecute}]"), []v1.Toleration{keyed, all}},
	} {
		r := Decoder{NodeName: "n"}.Decode([]byte(tc.manifest), "f")
		require.Equal(t, tc.want, r.Pods[0].Spec.Tolerations)
	}
	r := Decoder{Source: podmanager.SourceHTTP, NodeName: "n"}.Decode([]byte(smallest), "u")
	require.Empty(t, r.Pods[0].Spec.Tolerations)
}
