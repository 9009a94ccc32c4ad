package manifest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeparts/kubeparts/podmanager"
)

// rule is a manifest and what the rules say to it: "path: type of error", one
// for each error, none for a good pod.
type rule struct {
	manifest string
	want     []string
}

// Pieces of YAML in flow style, around what a rule is about. A key that is given
// again replaces the one before.
func metadata(fragment string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, " + fragment + "}\nspec: {containers: [{name: c, image: i}]}\n"
}

func pod(fragment string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}], " + fragment + "}\n"
}

func container(fragment string) string {
	return pod("containers: [{name: c, image: i, " + fragment + "}]")
}

func initContainer(fragment string) string {
	return pod("initContainers: [{name: s, image: i, " + fragment + "}]")
}

func volume(fragment string) string { return pod("volumes: [{name: v, " + fragment + "}]") }

// withVolume mounts or otherwise uses an emptyDir v and a claim w.
func withVolume(fragment string) string {
	return pod("volumes: [{name: v}, {name: w, persistentVolumeClaim: {claimName: x}}], containers: [{name: c, image: i, " + fragment + "}]")
}

func refused(want ...string) []string { return want }

const (
	required    = ": Required value"
	invalid     = ": Invalid value"
	unsupported = ": Unsupported value"
	forbidden   = ": Forbidden"
	duplicate   = ": Duplicate value"
	notFound    = ": Not found"
	tooLong     = ": Too long"
	tooMany     = ": Too many"
)

// testRules decodes each manifest and compares the errors, all of them.
func testRules(t *testing.T, rules []rule) {
	t.Helper()
	d := Decoder{NodeName: "n", AllowAPIReferences: true}
	for _, r := range rules {
		name := strings.Join(r.want, "; ")
		if name == "" {
			name = "accepted"
		}
		t.Run(name, func(t *testing.T) {
			got := validationErrors(t, d.Decode([]byte(r.manifest), "f"))
			slices.Sort(got)
			want := slices.Clone(r.want)
			slices.Sort(want)
			require.Equal(t, want, got, r.manifest)
		})
	}
}

func validationErrors(t *testing.T, r Result) []string {
	t.Helper()
	if len(r.Errors) == 0 {
		require.Len(t, r.Pods, 1)
		return nil
	}
	require.Len(t, r.Errors, 1)
	require.Equal(t, podmanager.ManifestValidation, r.Errors[0].Kind, r.Errors[0])
	var all utilerrors.Aggregate
	require.True(t, errors.As(r.Errors[0], &all))
	var got []string
	for _, err := range all.Errors() {
		var fieldErr *field.Error
		require.True(t, errors.As(err, &fieldErr))
		got = append(got, fieldErr.Field+": "+fieldErr.Type.String())
	}
	return got
}
