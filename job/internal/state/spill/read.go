package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zeebo/xxh3"
)

// Each calls yield with the records of a bucket, those of one dealer in the
// order in which they were put, and stops at its first error. The bytes are
// valid until yield returns. A damaged block is an error that names the file
// and the offset.
func (b *Buckets) Each(bucket int, yield func(head, tail []byte) error) error {
	return b.blocks(bucket, func(records int, text []byte) error {
		for range records {
			if len(text) < b.options.Head {
				return errDamaged
			}
			head := text[:b.options.Head:b.options.Head]
			text = text[b.options.Head:]
			var tail []byte
			if b.options.Tail {
				size, n := binary.Uvarint(text)
				if n <= 0 || size > uint64(len(text)-n) {
					return errDamaged
				}
				end := n + int(size)
				tail, text = text[n:end:end], text[end:]
			}
			if err := yield(head, tail); err != nil {
				return err
			}
		}
		return nil
	})
}

// Load returns the heads of a bucket whose records have no tails, back to
// back, in the order of Each. The caller may change them.
func (b *Buckets) Load(bucket int) ([]byte, error) {
	if b.options.Tail {
		return nil, errors.New("spill: records with tails cannot be loaded")
	}
	heads := make([]byte, 0, b.Len(bucket)*int64(b.options.Head))
	err := b.blocks(bucket, func(_ int, text []byte) error {
		heads = append(heads, text...)
		return nil
	})
	return heads, err
}

var errDamaged = errors.New("damaged block")

// blocks calls yield with the records of each block of a bucket.
func (b *Buckets) blocks(bucket int, yield func(records int, text []byte) error) error {
	b.mu.Lock()
	err := b.check(bucket)
	if err == nil && b.dealers > 0 {
		err = fmt.Errorf("spill: %d dealers are not flushed", b.dealers)
	}
	if err != nil {
		b.mu.Unlock()
		return err
	}
	c, f := b.contents[bucket], b.files[bucket/b.perFile]
	b.mu.Unlock()
	var block []byte
	for _, run := range c.runs {
		block = slices.Grow(block[:0], int(run.size))[:run.size]
		_, err := f.ReadAt(block, run.at)
		if err == nil && (binary.LittleEndian.Uint64(block) != xxh3.Hash(block[8:]) || binary.LittleEndian.Uint32(block[8:]) != uint32(bucket)) {
			err = errDamaged
		}
		if err != nil {
			return fmt.Errorf("spill: %s at offset %d: %w", f.Name(), run.at, noEOF(err))
		}
		if err := yield(int(binary.LittleEndian.Uint32(block[12:])), block[headerBytes:]); err != nil {
			return err
		}
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Sorted calls yield with the records of a bucket in ascending order of their
// heads, equal heads in the order of Each, and stops at its first error. The
// bytes are valid until yield returns. It holds the bucket in memory: the
// records, and with tails eight bytes more for each.
func (b *Buckets) Sorted(bucket int, yield func(head, tail []byte) error) error {
	if !b.options.Tail {
		heads, err := b.SortedHeads(bucket)
		if err != nil {
			return err
		}
		for size := b.options.Head; len(heads) > 0; heads = heads[size:] {
			if err := yield(heads[:size:size], nil); err != nil {
				return err
			}
		}
		return nil
	}
	// A row is a head and, big-endian, where its tail stands: rows in order
	// keep equal heads in order.
	size := b.options.Head + 8
	rows := make([]byte, 0, b.Len(bucket)*int64(size))
	tails := make([]byte, 0, max(b.Bytes(bucket)-b.Len(bucket)*int64(b.options.Head), 0))
	err := b.Each(bucket, func(head, tail []byte) error {
		rows = binary.BigEndian.AppendUint64(append(rows, head...), uint64(len(tails)))
		tails = append(binary.AppendUvarint(tails, uint64(len(tail))), tail...)
		return nil
	})
	if err != nil {
		return err
	}
	sortRows(rows, size, 0)
	for ; len(rows) > 0; rows = rows[size:] {
		tail := tails[binary.BigEndian.Uint64(rows[size-8:]):]
		n, at := binary.Uvarint(tail)
		end := at + int(n)
		if err := yield(rows[:size-8:size-8], tail[at:end:end]); err != nil {
			return err
		}
	}
	return nil
}

// SortedHeads is Load with the heads in ascending order.
func (b *Buckets) SortedHeads(bucket int) ([]byte, error) {
	heads, err := b.Load(bucket)
	sortRows(heads, b.options.Head, 0)
	return heads, err
}

// fewRows is how many rows are sorted by insertion.
const fewRows = 24

// Bytes returns about how many bytes the records of a bucket have, not fewer.
func (b *Buckets) Bytes(bucket int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.check(bucket) != nil {
		return 0
	}
	size := int64(0)
	for _, r := range b.contents[bucket].runs {
		size += r.size
	}
	return size
}

// sortRows sorts rows of size bytes that are equal before byte at: in place,
// by their leading byte, then each value's by the next. Rows in order, as those
// of equal heads are, cost one look.
func sortRows(rows []byte, size, at int) {
	if inOrder(rows, size, at) {
		return
	}
	for ; at < size && len(rows) > fewRows*size; at++ {
		var starts, ends [256]int
		for i := at; i < len(rows); i += size {
			ends[rows[i]] += size
		}
		if ends[rows[at]] == len(rows) {
			continue
		}
		sum := 0
		for v := range ends {
			starts[v] = sum
			sum += ends[v]
			ends[v] = sum
		}
		deal(rows, size, at, &starts, &ends)
		from := 0
		for _, end := range ends {
			if end-from > size {
				sortRows(rows[from:end], size, at+1)
			}
			from = end
		}
		return
	}
	if at < size {
		insertionSort(rows, size, at)
	}
}

func inOrder(rows []byte, size, at int) bool {
	for i := size; i < len(rows); i += size {
		if bytes.Compare(rows[i-size+at:i], rows[i+at:i+size]) > 0 {
			return false
		}
	}
	return true
}

// deal swaps each row into the stretch of its value at byte at: what is before
// starts has arrived.
func deal(rows []byte, size, at int, starts, ends *[256]int) {
	var spare [maxHead + 8]byte
	moved := spare[:size]
	for v := range starts {
		for starts[v] < ends[v] {
			here := rows[starts[v]:][:size]
			if int(here[at]) == v {
				starts[v] += size
				continue
			}
			copy(moved, here)
			for int(moved[at]) != v {
				w := moved[at]
				there := rows[starts[w]:][:size]
				starts[w] += size
				copy(here, there)
				copy(there, moved)
				copy(moved, here)
			}
			copy(here, moved)
			starts[v] += size
		}
	}
}

func insertionSort(rows []byte, size, at int) {
	var spare [maxHead + 8]byte
	moved := spare[:size]
	for end := size; end < len(rows); end += size {
		row := rows[end:][:size]
		to := end
		for to > 0 && bytes.Compare(rows[to-size+at:to], row[at:]) > 0 {
			to -= size
		}
		if to < end {
			copy(moved, row)
			copy(rows[to+size:end+size], rows[to:end])
			copy(rows[to:], moved)
		}
	}
}
