package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/kubeparts/kubeparts/podmanager"
)

var (
	errTooLarge = fmt.Errorf("the manifest is too large: the limit is %d MiB", MaxBytes>>20)
	errAliases  = fmt.Errorf("the manifest is too large once its YAML aliases are expanded: the limit is %d MiB", MaxBytes>>20)
	errValues   = fmt.Errorf("the manifest holds too many values: the limit is %d", maxValues)
	errObjects  = fmt.Errorf("the manifest holds too many objects: the limit is %d", maxObjects)
	errItems    = fmt.Errorf("the list has too many items: the limit is %d", maxItems)
	errNoName   = errors.New("name is needed for the pod")
)

func kindOfReadError(err error) podmanager.ManifestErrorKind {
	if errors.Is(err, errTooLarge) {
		return podmanager.ManifestRead
	}
	return podmanager.ManifestDecode
}

// toJSON turns YAML into JSON; what begins with a brace is taken for JSON as it
// is. Only the first document of YAML is read.
func toJSON(data []byte) (raw []byte, warnings []string, err error) {
	if len(data) >= MaxBytes {
		return nil, nil, errTooLarge
	}
	if countValues(data) > maxValues {
		return nil, nil, errValues
	}
	if utilyaml.IsJSONBuffer(data) {
		return data, nil, boundObjects(data)
	}
	if err := boundAliases(data); err != nil {
		return nil, nil, err
	}
	// Strict YAML differs from what the kubelet reads only in refusing keys that
	// are given twice.
	raw, strictErr := yaml.YAMLToJSONStrict(data)
	if strictErr != nil {
		if raw, err = yaml.YAMLToJSON(data); err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, "the last value counts: "+clip(oneLine(strictErr)))
	}
	if furtherDocument(data) {
		warnings = append(warnings, "only the first of several YAML documents is read")
	}
	return raw, warnings, boundObjects(raw)
}

// countValues is at least the number of values that a parser would find: each
// but the first follows a bracket, a comma or a line's end.
func countValues(data []byte) int {
	flow := bytes.Count(data, []byte(",")) + bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{"))
	lines := bytes.Count(data, []byte("\n"))
	if flow+lines <= maxValues {
		return flow + lines
	}
	lines = 0
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			lines++
		}
	}
	return flow + lines
}

// boundObjects bounds objects apart: decoded, even an empty one is large.
func boundObjects(raw []byte) error {
	if bytes.Count(raw, []byte("{")) > maxObjects {
		return errObjects
	}
	return nil
}

// boundAliases refuses aliases that expand to more than MaxBytes. The parser
// itself bounds how many nodes they make, not how large a scalar that is
// repeated is.
func boundAliases(data []byte) error {
	if bytes.IndexByte(data, '&') < 0 || bytes.IndexByte(data, '*') < 0 {
		return nil
	}
	var doc any
	// The tree shares what aliases repeat, as JSON can't.
	if err := goyaml.Unmarshal(data, &doc); err != nil {
		return err
	}
	if spend(doc, MaxBytes) < 0 {
		return errAliases
	}
	return nil
}

// spend takes the size of a parsed YAML tree off the budget, and stops once it
// is negative.
func spend(node any, budget int) int {
	switch n := node.(type) {
	case map[any]any:
		for k, v := range n {
			if budget = spend(v, spend(k, budget)); budget < 0 {
				break
			}
		}
	case []any:
		for _, v := range n {
			if budget = spend(v, budget); budget < 0 {
				break
			}
		}
	case string:
		budget -= len(n)
	}
	return budget - 1
}

// furtherDocument tells whether anything but comments follows the first
// document.
func furtherDocument(data []byte) bool {
	begun, ended := false, false
	for line := range bytes.Lines(data) {
		marker := bytes.HasPrefix(line, []byte("---")) && len(bytes.TrimSpace(line[:min(4, len(line))])) == 3
		rest := line
		if marker {
			rest = line[3:]
			ended = ended || begun
			begun = true
		}
		rest = bytes.TrimSpace(rest)
		if len(rest) == 0 || rest[0] == '#' || (!begun && rest[0] == '%') {
			continue
		}
		if ended {
			return true
		}
		begun = true
	}
	return false
}

// oneLine puts the several lines of a parser's error into one.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.TrimPrefix(strings.Join(lines, " "), "yaml: unmarshal errors: ")
}
