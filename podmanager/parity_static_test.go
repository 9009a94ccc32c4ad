package podmanager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
	"github.com/kubeparts/kubeparts/podmanager/source"
)

// staticCase is a line of staticpod.jsonl: manifests in a file, in a folder or
// at a URL, and the first word of their source.
type staticCase struct {
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
		Update bool          `json:"update"`
		Op     podmanager.Op `json:"op"`
		Pods   []struct {
			Derived bool            `json:"uid_derived"`
			Pod     json.RawMessage `json:"pod"`
		} `json:"pods"`
		Errors []struct {
			Kind  string `json:"kind"`
			Error string `json:"error"`
		} `json:"errors"`
	} `json:"want"`

	result *staticAnswer // what the library made of it
	errs   []error
}

// staticAnswer is what is compared.
type staticAnswer struct {
	Update bool          `json:"update"`
	Op     podmanager.Op `json:"op,omitempty"`
	Pods   []string      `json:"pods"`
	Errors []string      `json:"errors"`
}

func (c *staticCase) wanted() *staticAnswer {
	a := &staticAnswer{Update: c.Want.Update, Op: c.Want.Op, Pods: []string{}, Errors: []string{}}
	for _, p := range c.Want.Pods {
		var pod v1.Pod
		if err := json.Unmarshal(p.Pod, &pod); err != nil {
			a.Pods = append(a.Pods, err.Error())
			continue
		}
		a.Pods = append(a.Pods, comparable(&pod, p.Derived))
	}
	for _, e := range c.Want.Errors {
		a.Errors = append(a.Errors, e.Kind)
	}
	return a.sorted()
}

func (a *staticAnswer) sorted() *staticAnswer {
	slices.Sort(a.Pods)
	slices.Sort(a.Errors)
	return a
}

// comparable is the whole pod but for the UID and the hash where they are
// derived, which can't be the same ones.
func comparable(pod *v1.Pod, derived bool) string {
	own := pod.DeepCopy()
	if derived {
		own.UID = "(derived)"
		own.Annotations[podmanager.AnnotationHash] = "(derived)"
	}
	delete(own.Annotations, podmanager.AnnotationSeen)
	return text(own)
}

func (c *staticCase) want() string { return text(c.wanted()) }

var derivedUID = regexp.MustCompile("^[0-9a-f]{32}$")

func (c *staticCase) got(t *testing.T) string {
	report := firstReport(t, c.open(t))
	name := podmanager.SourceFile
	if c.Source == "http" {
		name = podmanager.SourceHTTP
	}
	c.result = &staticAnswer{Pods: []string{}, Errors: []string{}}
	if report.Op != "" {
		c.result.Update = true
		out, err := podmanager.NewMux(name).Merge(name, report.Op, report.Pods, now)
		require.NoError(t, err)
		require.Len(t, out.Updates, 1)
		c.result.Op = out.Updates[0].Op
		for _, pod := range out.Updates[0].Pods {
			c.result.Pods = append(c.result.Pods, comparable(pod, derivedUID.MatchString(string(pod.UID))))
		}
	}
	c.errs = flatten(report.Err)
	for _, err := range c.errs {
		c.result.Errors = append(c.result.Errors, kindOf(err))
	}
	for _, warning := range report.Warnings {
		if strings.Contains(warning, "a folder; manifests in it are not read") {
			c.result.Errors = append(c.result.Errors, "note")
		}
	}
	return text(c.result.sorted())
}

// firstReport runs a source until its first word.
func firstReport(t *testing.T, s podmanager.PodSource) podmanager.Report {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first *podmanager.Report
	err := s.Run(ctx, func(r podmanager.Report) {
		if first == nil {
			first = &r
		}
		cancel()
	})
	require.NoError(t, err)
	require.NotNil(t, first, "the source ended without a word")
	return *first
}

// open puts the manifests where they belong, with the kubelet's rule for what
// is missing or empty.
func (c *staticCase) open(t *testing.T) podmanager.PodSource {
	if c.Source == "http" {
		return c.openHTTP(t)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(c.Path))
	switch {
	case c.Manifest != nil:
		require.NoError(t, os.WriteFile(path, []byte(*c.Manifest), 0o600))
	case len(c.Files) > 0 || c.Source == "dir" && !c.missing():
		require.NoError(t, os.Mkdir(path, 0o700))
	}
	for _, f := range c.Files {
		file := filepath.Join(path, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		if !strings.HasSuffix(f.Name, "/") {
			require.NoError(t, os.WriteFile(file, []byte(f.Content), 0o600))
		}
	}
	return &source.File{
		Path:              path,
		Decoder:           manifest.Decoder{Source: podmanager.SourceFile, NodeName: c.NodeName},
		MissingMeansEmpty: true,
		NoWatch:           true,
	}
}

// missing tells whether the recorded path did not exist.
func (c *staticCase) missing() bool {
	return len(c.Want.Errors) == 1 && c.Want.Errors[0].Kind == "no-path"
}

func (c *staticCase) openHTTP(t *testing.T) podmanager.PodSource {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c.Status != 0 {
			w.WriteHeader(c.Status)
		}
		if c.Manifest != nil {
			_, _ = io.WriteString(w, *c.Manifest)
		}
	}))
	t.Cleanup(server.Close)
	path, err := url.Parse(c.URL)
	require.NoError(t, err)
	return &source.HTTP{
		URL:               server.URL + path.Path,
		Decoder:           manifest.Decoder{Source: podmanager.SourceHTTP, NodeName: c.NodeName},
		MissingMeansEmpty: true,
	}
}

// flatten takes apart joined errors.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// kindOf puts an error into the recording's terms.
func kindOf(err error) string {
	var bad *podmanager.ManifestError
	var status *source.StatusError
	switch {
	case errors.As(err, &bad):
		return string(bad.Kind)
	case errors.As(err, &status):
		return "http-status"
	case errors.Is(err, source.ErrEmptyBody):
		return "empty"
	case errors.Is(err, source.ErrMissing), errors.Is(err, fs.ErrNotExist):
		return "no-path"
	}
	return fmt.Sprintf("other: %v", err)
}

// only tells whether all errors are of a kind of words.
func (c *staticCase) only(words string) bool {
	for _, err := range c.errs {
		if !strings.Contains(err.Error(), words) {
			return false
		}
	}
	return len(c.errs) > 0
}

var hash = regexp.MustCompile(`kubernetes.io/config.hash\\": \\"[^"]*"`)

var recordedStatus = regexp.MustCompile(`(\\n \\"status\\": ).*?\\n }\\n}"`)

var staticRules = []rule[*staticCase]{
	{"the hash beside a given UID is that of the content", func(_ *staticCase, want, got string) bool {
		return hash.ReplaceAllString(want, "") == hash.ReplaceAllString(got, "")
	}},
	{"the status in a manifest is nobody's word", func(_ *staticCase, want, got string) bool {
		return recordedStatus.ReplaceAllString(want, `${1}{\n  \"phase\": \"Pending\"\n }\n}"`) == got
	}},
	{"a bad item of a list is refused alone", func(c *staticCase, _, _ string) bool {
		several := c.result.Update || len(c.result.Errors) > 1
		return c.Source == "http" && !c.Want.Update && len(c.Want.Errors) == 1 && several &&
			slices.Contains(c.result.Errors, c.Want.Errors[0].Kind)
	}},
	{"what editors and downloads leave behind is passed over", func(c *staticCase, _, _ string) bool {
		return slices.ContainsFunc(c.Files, func(f struct {
			Name    string `json:"name"`
			Content string `json:"content"`
		}) bool {
			return strings.HasSuffix(f.Name, "~") || strings.HasPrefix(f.Name, "#") && strings.HasSuffix(f.Name, "#") ||
				slices.Contains([]string{".swp", ".swx", ".tmp"}, filepath.Ext(f.Name))
		})
	}},
	{"privileged containers are allowed", func(c *staticCase, _, _ string) bool {
		return len(c.Want.Errors) == 1 && len(c.errs) == 0 && strings.Contains(c.Want.Errors[0].Error, "disallowed by cluster policy")
	}},
	{"a UID must do as the name of a folder", func(c *staticCase, _, _ string) bool {
		return len(c.Want.Errors) == 0 && c.only("metadata.uid: ")
	}},
	{"a mount must stay in its place", func(c *staticCase, _, _ string) bool {
		return len(c.Want.Errors) == 0 && c.only(".mountPath: ")
	}},
}
