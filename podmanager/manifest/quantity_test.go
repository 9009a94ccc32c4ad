package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Before they were bounded, each of these kept a processor busy for minutes.
func TestQuantitiesThatTakeForEverAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, manifest, field string }{
		{"a large exponent", container(`resources: {requests: {cpu: "1e999999999"}}`), `spec.containers[0].resources.requests[cpu]`},
		{"a small one", container(`resources: {limits: {memory: "1E-999999999"}}`), `spec.containers[0].resources.limits[memory]`},
		{"digits without end", container(`resources: {limits: {cpu: "` + strings.Repeat("9", 1<<20) + `"}}`), `spec.containers[0].resources.limits[cpu]`},
		{"of the pod", pod(`overhead: {cpu: "1e999999999"}`), `spec.overhead[cpu]`},
		{"of a volume", pod(`volumes: [{name: v, emptyDir: {sizeLimit: "1e999999999"}}]`), `spec.volumes[0].emptyDir.sizeLimit`},
		{"a JSON number", `{"apiVersion":"v1","kind":"Pod","spec":{"overhead":{"cpu":1e999999999}}}`, `spec.overhead[cpu]`},
		{"a key given twice", `{"apiVersion":"v1","kind":"Pod","spec":{"overhead":{"cpu":"1e999999999","cpu":"1"}}}`, `spec.overhead[cpu]`},
		{"of another kind", `{"apiVersion":"v1","kind":"Node","status":{"capacity":{"cpu":"1e999999999"}}}`, `status.capacity[cpu]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result := Decoder{NodeName: "n"}.Decode([]byte(tc.manifest), "/m/a.yaml")
			require.Empty(t, result.Pods)
			require.Len(t, result.Errors, 1)
			require.ErrorContains(t, result.Errors[0], "/m/a.yaml: "+tc.field+": Invalid value")
			require.Less(t, len(result.Errors[0].Error()), 1000)
		})
	}
	t.Run("an item of a list", func(t *testing.T) {
		bad := `{metadata: {name: b}, spec: {overhead: {cpu: "1e999999999"}}}`
		result := Decoder{NodeName: "n", Source: "http"}.Decode([]byte(podList(goodItem, bad)), "http://h/")
		require.Len(t, result.Pods, 1)
		require.Len(t, result.Errors, 1)
		require.ErrorContains(t, result.Errors[0], "items[1]: spec.overhead[cpu]")
	})
}

// What only looks like such a quantity is somebody's text.
func TestTextMayLookLikeAQuantity(t *testing.T) {
	for _, manifest := range []string{
		container(`env: [{name: COMMIT, value: "12e99999999"}]`),
		metadata(`annotations: {digits: "` + strings.Repeat("1", 1000) + `"}`),
		container(`resources: {requests: {cpu: "1e2", memory: "1E9"}}, args: ["1e123456"]`),
	} {
		require.Empty(t, Decoder{NodeName: "n"}.Decode([]byte(manifest), "f").Errors)
	}
}

func TestUnmarshalNamesTheField(t *testing.T) {
	for raw, says := range map[string]string{
		`{"spec":{"overhead":{"cpu":"lots"}}}`:                `spec.overhead[cpu]: Invalid value: "lots": quantities must match`,
		`{"spec":{"overhead":{"cpu":"1e99999999"}}}`:          `spec.overhead[cpu]: Invalid value: "1e99999999": a quantity has at most`,
		`{"spec":{"overhead":{"cpu":true}}}`:                  `spec.overhead[cpu]: Invalid value: "true"`,
		`{"spec":{"overhead":{"cpu":{}}}}`:                    `spec.overhead[cpu]: Invalid value: "{"`,
		`{"spec":{"overhead":{"cpu":[1]}}}`:                   `spec.overhead[cpu]: Invalid value: "["`,
		`{"spec":{"overhead":{"cpu":""}}}`:                    `spec.overhead[cpu]: Invalid value: ""`,
		`{"spec":{"overhead":{"cpu":null,"memory":" 1Gi "}}}`: "",
		`{"Spec":7,"unknown":{"overhead":"lots"}}`:            "",
		`{"spec":{"overhead":7}}`:                             "spec.overhead: number instead of",
		`{"spec":`:                                            "unexpected end of JSON input",
		``:                                                    "unexpected end of JSON input",
		`[1,2]`:                                               "cannot unmarshal array",
	} {
		err := Unmarshal([]byte(raw), &v1.Pod{})
		if says == "" {
			require.NoError(t, err, raw)
		} else {
			require.ErrorContains(t, err, says, raw)
		}
	}
	require.Error(t, Unmarshal([]byte(`{"a":"1e99999999"}`), nil))
}
