package durable

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"iter"
	"strconv"
	"strings"
)

// A batch is a record that holds many records. Its data are one after the other
//
//	<crc32c of name and data> <length of the data> <name>
//	<data>
//
// so that what is whole can be told from what is damaged. A record of JSON has no
// line that looks like the first one.
const (
	batchPrefix = "batch-"
	// batchFrom is the number of records that are worth a batch.
	batchFrom = 64
	// batchRecords and batchBytes bound one, and so what it costs to take a
	// record out of it.
	batchRecords = 1024
	batchBytes   = 4 << 20
	// maxFirstLine is the length that the first line of a record in a batch may have.
	maxFirstLine = 300
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func batchName(n uint64) string { return batchPrefix + strconv.FormatUint(n, 10) }

// batchNumber is the number in the name of a batch.
func batchNumber(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, batchPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && batchName(n) == name
}

// entry is one record in a batch.
type entry struct {
	name string
	data []byte
	// offset is where the first line begins in the file of the batch.
	offset int64
}

func sumOf(name string, data []byte) uint32 {
	var room [maxFirstLine]byte
	return crc32.Update(crc32.Checksum(append(room[:0], name...), castagnoli), castagnoli, data)
}

// appendEntry adds a record to the data of a batch.
func appendEntry(to []byte, name string, data []byte) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], sumOf(name, data))
	to = hex.AppendEncode(to, sum[:])
	to = strconv.AppendInt(append(to, ' '), int64(len(data)), 10)
	to = append(append(append(to, ' '), name...), '\n')
	return append(append(to, data...), '\n')
}

// pack makes the data of a batch, and notes where each record begins.
func pack(entries []entry) []byte {
	size := 0
	for _, e := range entries {
		size += len(e.data) + len(e.name) + 32
	}
	data := make([]byte, 0, size)
	for i, e := range entries {
		entries[i].offset = int64(maxHeader + len(data))
		data = appendEntry(data, e.name, e.data)
	}
	return data
}

// chunks cuts changes into batches.
func chunks(changes []Change) iter.Seq[[]Change] {
	return func(yield func([]Change) bool) {
		begin, size := 0, 0
		for i, c := range changes {
			if size += len(c.Data); i > begin && (i-begin == batchRecords || size > batchBytes) {
				if !yield(changes[begin:i]) {
					return
				}
				begin, size = i, len(c.Data)
			}
		}
		yield(changes[begin:])
	}
}

// parseBatch returns the records of a batch that are whole, in order. An error
// says that there is something else in it.
func parseBatch(raw []byte) ([]entry, error) {
	data, err := decode(raw)
	at := maxHeader
	if err != nil {
		data, at = raw, 0
	}
	var entries []entry
	for len(data) > 0 {
		name, content, size, bad := parseEntry(data)
		if bad != nil {
			// The next line may be the first of a record.
			if size = bytes.IndexByte(data, '\n') + 1; size == 0 {
				size = len(data)
			}
			if err == nil {
				err = bad
			}
		} else {
			entries = append(entries, entry{name, content, int64(at)})
		}
		data, at = data[size:], at+size
	}
	return entries, err
}

var errNoEntry = errors.New("there is something else than a record in a batch")

// parseEntry reads the record with which the data begin, and says how long it is.
func parseEntry(data []byte) (name string, content []byte, size int, err error) {
	end := bytes.IndexByte(data[:min(len(data), maxFirstLine)], '\n')
	if end < 0 {
		return "", nil, 0, errNoEntry
	}
	parts := strings.Split(string(data[:end]), " ")
	if len(parts) != 3 || len(parts[0]) != 8 || checkName(parts[2]) != nil {
		return "", nil, 0, errNoEntry
	}
	sum, err := strconv.ParseUint(parts[0], 16, 32)
	if err != nil {
		return "", nil, 0, errNoEntry
	}
	length, err := strconv.Atoi(parts[1])
	if err != nil || length < 0 || length > len(data)-end-2 {
		return "", nil, 0, errNoEntry
	}
	content = data[end+1 : end+1+length]
	if data[end+1+length] != '\n' || sumOf(parts[2], content) != uint32(sum) {
		return "", nil, 0, errNoEntry
	}
	return parts[2], content, end + 2 + length, nil
}
