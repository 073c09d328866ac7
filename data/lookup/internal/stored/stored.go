// Package stored has what the lookup stores share: the encoding of documents and
// keys, the values within a key's reach, and a Store on top of any server that
// implements Server. It opens no file and no connection.
package stored

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup/data/lookup"
)

// ErrEntry is returned for bytes that cannot be decoded as an entry.
var ErrEntry = errors.New("a document is damaged")

// AppendEntry appends the encoding of an entry without its keys: row, fingerprint,
// normal flag, length, and then the texts, each preceded by its length.
func AppendEntry(dst []byte, e *lookup.Entry) []byte {
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

// Fingerprint returns the fingerprint of an entry that AppendEntry encoded.
func Fingerprint(b []byte) (hi, lo uint64, err error) {
	_, n := binary.Uvarint(b)
	if n <= 0 || len(b) < n+16 {
		return 0, 0, fmt.Errorf("lookup: %w", ErrEntry)
	}
	return binary.LittleEndian.Uint64(b[n+8:]), binary.LittleEndian.Uint64(b[n:]), nil
}

// ParseEntry decodes what AppendEntry encoded into e, and returns the bytes behind it.
// The texts are copies. It leaves e.Keys alone.
func ParseEntry(b []byte, e *lookup.Entry) (rest []byte, err error) {
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

// appendKeys appends the keys of a document, for a store that keeps them
// behind its entry to remove it from their tables.
func appendKeys(dst []byte, keys []lookup.Key) []byte {
	for _, k := range keys {
		dst = binary.LittleEndian.AppendUint32(append(dst, byte(k.Table)), k.Value)
	}
	return dst
}

// parseKeys reads what appendKeys wrote.
func parseKeys(b []byte) (keys []lookup.Key) {
	for ; len(b) >= 5; b = b[5:] {
		keys = append(keys, lookup.Key{Table: int(b[0]), Value: binary.LittleEndian.Uint32(b[1:])})
	}
	return keys
}

// CheckEntry returns an error unless the schema has the entry's keys and its row
// stands behind the last one of its part.
func CheckEntry(e *lookup.Entry, s lookup.Schema, last int64) error {
	if e.Row <= last {
		return fmt.Errorf("lookup: row %d comes behind row %d", e.Row, last)
	}
	for _, k := range e.Keys {
		if err := s.CheckKey(k); err != nil {
			return err
		}
	}
	return nil
}

// Compare orders hits as Store.Near gives them.
func Compare(a, b lookup.Hit) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.Part, b.Part), cmp.Compare(a.Row, b.Row))
}

// Values is how many values of a width differ in at most reach bits from one.
func Values(width, reach int) int {
	n, sum := 1, 1
	for i := 1; i <= min(reach, width); i++ {
		n = n * (width - i + 1) / i
		sum += n
	}
	return sum
}

// Around yields the values of a width that differ in at most reach bits from
// one, itself first.
func Around(value uint32, width, reach int) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for n := 0; n <= min(reach, width); n++ {
			// All masks of n bits, each the next larger number of as many.
			for mask := uint64(1)<<n - 1; mask>>width == 0; {
				if !yield(value ^ uint32(mask)) {
					return
				}
				if mask == 0 {
					break
				}
				low := mask & -mask
				up := mask + low
				mask = up | (mask^up)/low>>2
			}
		}
	}
}
