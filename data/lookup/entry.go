package lookup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrEntry is returned for bytes that are no entry.
var ErrEntry = errors.New("a document is damaged")

// AppendEntry appends an entry without its keys: row, fingerprint, lane,
// length, and its texts, each behind its length.
func AppendEntry(dst []byte, e *Entry) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.Row))
	dst = binary.LittleEndian.AppendUint64(dst, e.Lo)
	dst = binary.LittleEndian.AppendUint64(dst, e.Hi)
	normal := byte(0)
	if e.Normal {
		normal = 1
	}
	dst = append(dst, normal)
	dst = binary.AppendUvarint(dst, uint64(e.Length))
	for _, text := range [][]byte{e.ID, e.Sketch, e.Letters, e.FirstSeen, e.Cluster} {
		dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	return dst
}

// ParseEntry reads what AppendEntry wrote, and returns what is behind it. The
// texts are copies; the keys stay as they are.
func ParseEntry(b []byte, e *Entry) (rest []byte, err error) {
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return math.MaxUint64
		}
		b = b[n:]
		return v
	}
	e.Row = int64(number())
	if len(b) < 17 {
		return nil, fmt.Errorf("lookup: %w", ErrEntry)
	}
	e.Lo, e.Hi, e.Normal = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), b[16] == 1
	b = b[17:]
	e.Length = uint32(number())
	for _, text := range []*[]byte{&e.ID, &e.Sketch, &e.Letters, &e.FirstSeen, &e.Cluster} {
		n := number()
		if n > uint64(len(b)) {
			return nil, fmt.Errorf("lookup: %w", ErrEntry)
		}
		*text, b = slices.Clone(b[:n]), b[n:]
	}
	return b, nil
}

// AppendKeys appends the keys of a document, for a store that keeps them
// behind its entry to remove it from their tables.
func AppendKeys(dst []byte, keys []Key) []byte {
	for _, k := range keys {
		dst = binary.LittleEndian.AppendUint32(append(dst, byte(k.Table)), k.Value)
	}
	return dst
}

// ParseKeys reads what AppendKeys wrote.
func ParseKeys(b []byte) (keys []Key) {
	for ; len(b) >= 5; b = b[5:] {
		keys = append(keys, Key{Table: int(b[0]), Value: binary.LittleEndian.Uint32(b[1:])})
	}
	return keys
}
