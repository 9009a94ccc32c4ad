package manifest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/podmanager"
)

// recorded is one line of staticpod.jsonl, as far as decoding is concerned:
// what paths, folders and HTTP do is the sources' matter.
type recorded struct {
	ID       string  `json:"id"`
	About    string  `json:"about"`
	Source   string  `json:"source"`
	NodeName string  `json:"node_name"`
	Path     string  `json:"path"`
	URL      string  `json:"url"`
	Status   int     `json:"http_status"`
	Manifest *string `json:"manifest"`
	Files    []struct {
		Name    string `json:"name"`
		Content string `json:"content"`
	} `json:"files"`
	Want struct {
		Pods []struct {
			Pod json.RawMessage `json:"pod"`
		} `json:"pods"`
		Errors []struct {
			Kind  string `json:"kind"`
			Error string `json:"error"`
		} `json:"errors"`
	} `json:"want"`
}

// decodingKinds are the kinds of error that decoding gives.
var decodingKinds = map[string]bool{"decode": true, "not-a-pod": true, "no-name": true, "validation": true, "api-reference": true}

// verdict is what a case comes to: the pods as JSON, and the kinds of error.
type verdict struct {
	pods  []string
	kinds []string
}

// difference is a rule by which the library's verdict may differ from the
// recorded one.
type difference struct {
	name  string
	holds func(c recorded, got Result, want, have verdict) bool
}

// hashAnnotation is the annotation of the hash in a pod's JSON.
var hashAnnotation = regexp.MustCompile(`"kubernetes.io/config.hash":"[^"]*"`)

func withoutHash(v verdict) verdict {
	pods := make([]string, len(v.pods))
	for i := range v.pods {
		pods[i] = hashAnnotation.ReplaceAllString(v.pods[i], "")
	}
	return verdict{pods: pods, kinds: v.kinds}
}

var differences = []difference{
	// The kubelet writes a given UID into the hash's annotation, the library
	// always the hash of the content.
	{"hash-beside-a-given-uid", func(_ recorded, got Result, want, have verdict) bool {
		for _, pod := range got.Pods {
			if string(pod.UID) != pod.Annotations[podmanager.AnnotationHash] {
				return equalVerdicts(withoutHash(want), withoutHash(have))
			}
		}
		return false
	}},
	// A list loses its bad items, not its good ones.
	{"bad-item-of-a-list", func(c recorded, got Result, _, _ verdict) bool {
		return got.List && len(got.Errors) > 0 && len(c.Want.Pods) == 0 && len(c.Want.Errors) == 1 &&
			hasKind(got, c.Want.Errors[0].Kind)
	}},
	// What names a folder later may not leave it.
	{"uid-is-a-path-element", func(c recorded, got Result, _, _ verdict) bool {
		return len(c.Want.Errors) == 0 && len(got.Errors) == 1 && strings.Contains(got.Errors[0].Error(), "metadata.uid: ")
	}},
	{"hostile-mount-path", func(c recorded, got Result, _, _ verdict) bool {
		return len(c.Want.Errors) == 0 && len(got.Errors) == 1 && strings.Contains(got.Errors[0].Error(), ".mountPath: ")
	}},
	// The recorder had not allowed privileged containers, as a kubelet does.
	{"privileged-allowed", func(c recorded, got Result, _, _ verdict) bool {
		return len(got.Errors) == 0 && len(c.Want.Errors) == 1 && strings.Contains(c.Want.Errors[0].Error, "disallowed by cluster policy")
	}},
}

// TestStaticPodRecording replays what a kubelet v1.36.3 made of manifests. A
// derived UID can't be compared, being a hash; that it is derived can.
func TestStaticPodRecording(t *testing.T) {
	agree, total, byRule := 0, 0, map[string]int{}
	for _, c := range readRecording(t, "staticpod") {
		total++
		got := c.decode()
		want, have := c.verdict(t), verdictOf(t, got)
		if equalVerdicts(want, have) {
			agree++
			continue
		}
		if name := ruleOf(c, got, want, have); name != "" {
			byRule[name]++
			continue
		}
		t.Errorf("%s %s\nmanifest:\n%s\nwant %v %s\n%v\ngot  %v %s\n%v", c.ID, c.About, c.text(),
			want.kinds, strings.Join(want.pods, "\n"), c.Want.Errors, have.kinds, strings.Join(have.pods, "\n"), got.Errors)
	}
	for _, d := range differences {
		if n := byRule[d.name]; n > 0 {
			t.Logf("%s: %d", d.name, n)
		}
	}
	t.Logf("staticpod, decoding: %d of %d, %d differ by design", agree, total, total-agree)
}

func readRecording(t *testing.T, name string) []recorded {
	t.Helper()
	var cases []recorded
	for line := range recordings.Lines(t, name) {
		var c recorded
		require.NoError(t, json.Unmarshal(line, &c))
		cases = append(cases, c)
	}
	return cases
}

// decode decodes every manifest of the case, as the source does that is not
// here: hidden files and folders passed over, the last file of a name kept, the
// first item of a name.
func (c recorded) decode() Result {
	d := Decoder{Source: c.Source, NodeName: c.NodeName}
	switch {
	case c.Source == "http" && (c.Status != 0 && c.Status != 200 || c.Manifest == nil || *c.Manifest == ""):
		return Result{}
	case c.Source == "http":
		return keepOne(d.Decode([]byte(*c.Manifest), c.URL), true)
	case c.Manifest != nil:
		return d.Decode([]byte(*c.Manifest), c.Path)
	}
	var all Result
	for _, f := range c.Files {
		if strings.HasPrefix(f.Name, ".") || strings.Contains(f.Name, "/") {
			continue
		}
		r := d.Decode([]byte(f.Content), filepath.Join(c.Path, f.Name))
		all.Pods = append(all.Pods, r.Pods...)
		all.Errors = append(all.Errors, r.Errors...)
	}
	return keepOne(all, false)
}

// keepOne keeps the first or the last pod of each name.
func keepOne(r Result, first bool) Result {
	at := map[string]int{}
	var kept []*v1.Pod
	for _, pod := range r.Pods {
		i, ok := at[podmanager.FullName(pod)]
		switch {
		case !ok:
			at[podmanager.FullName(pod)] = len(kept)
			kept = append(kept, pod)
		case !first:
			kept[i] = pod
		}
	}
	r.Pods = kept
	return r
}

func (c recorded) text() string {
	if c.Manifest != nil {
		return *c.Manifest
	}
	var b strings.Builder
	for _, f := range c.Files {
		b.WriteString("-- " + f.Name + "\n" + f.Content)
	}
	return b.String()
}

func (c recorded) verdict(t *testing.T) verdict {
	var v verdict
	for _, p := range c.Want.Pods {
		var pod v1.Pod
		require.NoError(t, json.Unmarshal(p.Pod, &pod))
		delete(pod.Annotations, podmanager.AnnotationSource)
		v.pods = append(v.pods, asJSON(t, &pod))
	}
	for _, e := range c.Want.Errors {
		if decodingKinds[e.Kind] {
			v.kinds = append(v.kinds, e.Kind)
		}
	}
	return v
}

func verdictOf(t *testing.T, r Result) verdict {
	var v verdict
	for _, pod := range r.Pods {
		pod = pod.DeepCopy()
		delete(pod.Annotations, podmanager.AnnotationSource)
		if hash := pod.Annotations[podmanager.AnnotationHash]; hash == string(pod.UID) {
			require.Len(t, hash, 32)
			pod.UID, pod.Annotations[podmanager.AnnotationHash] = "(derived)", "(derived)"
		}
		v.pods = append(v.pods, asJSON(t, pod))
	}
	for _, e := range r.Errors {
		v.kinds = append(v.kinds, string(e.Kind))
	}
	return v
}

// asJSON gives a pod in one form: null times and empty resources left out.
func asJSON(t *testing.T, pod *v1.Pod) string {
	out, err := json.Marshal(pod)
	require.NoError(t, err)
	var again v1.Pod
	require.NoError(t, json.Unmarshal(out, &again))
	out, err = json.Marshal(&again)
	require.NoError(t, err)
	return string(out)
}

func equalVerdicts(a, b verdict) bool {
	return equalSets(a.pods, b.pods) && equalSets(a.kinds, b.kinds)
}

func equalSets(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	count := map[string]int{}
	for i := range a {
		count[a[i]]++
		count[b[i]]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func ruleOf(c recorded, got Result, want, have verdict) string {
	for _, d := range differences {
		if d.holds(c, got, want, have) {
			return d.name
		}
	}
	return ""
}

func hasKind(r Result, kind string) bool {
	for _, e := range r.Errors {
		if string(e.Kind) == kind {
			return true
		}
	}
	return false
}
