package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// reader reads objects from files, and from the standard input once.
type reader struct {
	stdin     io.Reader
	used      bool
	generated int // names so far
}

// item is one object and where it stands.
type item struct {
	where string // file and document
	kind  string
	raw   json.RawMessage
}

// node reads the one node of a file.
func (r *reader) node(file string) (*v1.Node, error) {
	items, err := r.items(file)
	if err != nil {
		return nil, err
	}
	if len(items) != 1 {
		return nil, fmt.Errorf("%s: it holds %d objects, and should hold one Node", file, len(items))
	}
	node := &v1.Node{}
	if err := items[0].decode("Node", node); err != nil {
		return nil, err
	}
	if node.Name == "" {
		return nil, fmt.Errorf("%s: metadata.name is missing", items[0].where)
	}
	return node, nil
}

// pods reads the pods of a file. With a warn it is told of fields that nobody
// knows: kubectl prints none, but a person's slip would go unnoticed.
func (r *reader) pods(file string, warn func(string)) ([]*v1.Pod, error) {
	items, err := r.items(file)
	if err != nil {
		return nil, err
	}
	pods := make([]*v1.Pod, 0, len(items))
	for _, it := range items {
		pod := &v1.Pod{}
		if err := it.decode("Pod", pod); err != nil {
			return nil, err
		}
		if warn != nil {
			if unknown := it.unknown(&v1.Pod{}); unknown != nil {
				warn(fmt.Sprintf("%s: %s is passed over", it.where, strings.TrimPrefix(unknown.Error(), "json: ")))
			}
		}
		if pod.Name == "" && pod.GenerateName != "" {
			r.generated++
			pod.Name = fmt.Sprintf("%snew%d", pod.GenerateName, r.generated)
		}
		if pod.Name == "" {
			return nil, fmt.Errorf("%s: metadata.name is missing", it.where)
		}
		if pod.Namespace == "" {
			pod.Namespace = "default"
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// unknown is the first field that a type does not have, nil for none.
func (it item) unknown(into any) error {
	d := json.NewDecoder(bytes.NewReader(it.raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func (it item) decode(kind string, into any) error {
	if it.kind != kind {
		return fmt.Errorf("%s: kind is %q, and should be %s", it.where, it.kind, kind)
	}
	if err := manifest.Unmarshal(it.raw, into); err != nil {
		return fmt.Errorf("%s: %w", it.where, err)
	}
	return nil
}

// items reads the objects of a file, those of lists one by one.
func (r *reader) items(file string) ([]item, error) {
	in, err := r.open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var all []item
	decoder := yaml.NewYAMLOrJSONDecoder(bufio.NewReader(in), 4096)
	for n := 1; ; n++ {
		where := file
		if n > 1 {
			where = fmt.Sprintf("%s, document %d", file, n)
		}
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		found, err := unlist(where, raw, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

func (r *reader) open(file string) (io.ReadCloser, error) {
	if file != "-" {
		return os.Open(file)
	}
	if r.used {
		return nil, errors.New("- is given twice: the standard input can be read once")
	}
	r.used = true
	return io.NopCloser(r.stdin), nil
}

// deepestList is how deep lists may stand in lists: each level is read anew.
const deepestList = 10

func unlist(where string, raw json.RawMessage, depth int) ([]item, error) {
	if depth > deepestList {
		return nil, fmt.Errorf("%s: lists are nested more than %d deep", where, deepestList)
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil // an empty document
	}
	var head struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := utiljson.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("%s: it is no object: %w", where, err)
	}
	listed, isList := map[string]string{"List": "", "PodList": "Pod", "NodeList": "Node"}[head.Kind]
	if !isList {
		return []item{{where, head.Kind, raw}}, nil
	}
	var all []item
	for i, raw := range head.Items {
		found, err := unlist(fmt.Sprintf("%s, items[%d]", where, i), raw, depth+1)
		if err != nil {
			return nil, err
		}
		if len(found) == 1 && found[0].kind == "" {
			found[0].kind = listed // items of a typed list need not say it
		}
		all = append(all, found...)
	}
	return all, nil
}
