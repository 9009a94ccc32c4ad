package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/durable"
)

// format is the version of the records that this package writes and reads.
const format = 1

// record is what is on disk of a pod.
type record struct {
	Format int       `json:"format"`
	UID    types.UID `json:"uid"`
	// Source and Pod are what is restored; without a pod both are empty.
	Source string  `json:"source,omitempty"`
	Pod    *v1.Pod `json:"pod,omitempty"`
	// Memory is what somebody else remembers.
	Memory json.RawMessage `json:"memory,omitempty"`
}

// empty tells whether nothing is to be kept.
func (r *record) empty() bool { return r.Pod == nil && len(r.Memory) == 0 }

const (
	prefix       = "pod"
	plainPrefix  = prefix + "-"
	hashedPrefix = prefix + "x-"
)

// nameOf is the name of the record of a UID, also where names that differ in case
// are one.
func nameOf(uid types.UID) string {
	plain := uid != "" && len(uid) <= 128
	for _, r := range uid {
		plain = plain && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	}
	if plain {
		return plainPrefix + string(uid)
	}
	sum := sha256.Sum256([]byte(uid))
	return hashedPrefix + hex.EncodeToString(sum[:])
}

func isRecord(name string) bool {
	return strings.HasPrefix(name, plainPrefix) || strings.HasPrefix(name, hashedPrefix)
}

// change is the record as a change on disk. What the API server notes about who
// set which field is left out.
func (r record) change() (durable.Change, error) {
	c := durable.Change{Name: nameOf(r.UID), Remove: r.empty()}
	if c.Remove {
		return c, nil
	}
	if r.Pod == nil {
		c.Data = r.appendMemory(make([]byte, 0, len(r.Memory)+128))
		return c, sized(c.Data)
	}
	r.Format = format
	if r.Pod.ManagedFields != nil {
		pod := *r.Pod
		pod.ManagedFields = nil
		r.Pod = &pod
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = sized(data)
	}
	c.Data = data
	return c, err
}

func sized(data []byte) error {
	if len(data) > durable.MaxRecord {
		return fmt.Errorf("%d bytes are too many", len(data))
	}
	return nil
}

// appendMemory is the JSON of a record without a pod. What is remembered is JSON
// already, and is neither parsed nor copied twice: it may be that of a thousand
// pods at once.
func (r record) appendMemory(to []byte) []byte {
	uid, _ := json.Marshal(r.UID) // a string always has a JSON form
	to = fmt.Appendf(to, `{"format":%d,"uid":%s,"memory":`, format, uid)
	return append(append(to, r.Memory...), '}')
}

// decode reads the record of a name. Its errors quote nothing of it.
func decode(name string, data []byte) (*record, error) {
	r := &record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, describe(err)
	}
	switch {
	case r.Format != format:
		return nil, fmt.Errorf("its format is %d, not %d", r.Format, format)
	case nameOf(r.UID) != name:
		return nil, errors.New("it is the record of another pod")
	case r.Pod != nil && (r.Pod.UID != r.UID || r.Pod.Name == "" || r.Source == ""):
		return nil, errors.New("its pod lacks a name or a source, or has another UID")
	case r.empty():
		return nil, errors.New("it holds nothing")
	}
	return r, nil
}

// describe says where JSON is wrong, without what stands there.
func describe(err error) error {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return fmt.Errorf("its field %s is no %s", typ.Field, typ.Type)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is no JSON at byte %d", syntax.Offset)
	}
	return errors.New("a value in it can't be read")
}
