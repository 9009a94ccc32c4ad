package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// A record's file is one line and then the data:
//
//	kubeparts/1 sha256:<hex of the data's sum>
const (
	magic     = "kubeparts/1 sha256:"
	maxHeader = len(magic) + 2*sha256.Size + 1
)

func header(data []byte) string {
	sum := sha256.Sum256(data)
	return magic + hex.EncodeToString(sum[:]) + "\n"
}

// decode returns the data of a record's file.
func decode(raw []byte) ([]byte, error) {
	if len(raw) < maxHeader || !bytes.HasPrefix(raw, []byte(magic)) {
		return nil, errors.New("it does not begin as a record does")
	}
	data := raw[maxHeader:]
	if string(raw[:maxHeader]) != header(data) {
		return nil, errors.New("the checksum does not match")
	}
	return data, nil
}

// CorruptError says that a record was damaged and where it is now.
type CorruptError struct {
	// Folder and Name are where the record was.
	Folder, Name string
	// Aside is the name in the folder under which it was set aside; empty when
	// that failed.
	Aside string
	// Reason is what is wrong with it.
	Reason error
}

// Error implements error.
func (e *CorruptError) Error() string {
	if e.Aside == "" {
		return fmt.Sprintf("record %s in %s is corrupt and can't be set aside: %v", e.Name, e.Folder, e.Reason)
	}
	return fmt.Sprintf("record %s in %s is corrupt, set aside as %s: %v", e.Name, e.Folder, e.Aside, e.Reason)
}

// Unwrap returns the reason.
func (e *CorruptError) Unwrap() error { return e.Reason }
