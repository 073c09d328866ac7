// Package pairs stores the pairs that a run's join finds: their number is not
// bounded by that of the documents. It is state that one stage hands to the
// next; formats.md describes the file. It never looks at what a pair says.
package pairs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// Pair is a pair as the file holds it.
type Pair struct {
	data.Pair
	data.Overlap
}

// A file is a line that names its kind, then blocks: uint32 records, the
// records, an XXH3-64 checksum of both; a block of no records ends it. A record
// is the numbers of both documents, distance, reason, figure, Jaccard and
// containment. Integers are little-endian, but for the numbers (data.AppendNumber).
const (
	kind        = "neardup pairs 2\n"
	recordBytes = 2*data.NumberBytes + 1 + 1 + 2 + data.OverlapBytes
	blockPairs  = 4096
)

// Writer writes a file of pairs.
type Writer struct {
	mu  sync.Mutex
	out *data.AtomicFile
	n   int64
}

// Create starts the file at path.
func Create(path string) (*Writer, error) {
	out, err := data.CreateAtomic(path)
	if err != nil {
		return nil, err
	}
	if _, err := out.Write([]byte(kind)); err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &Writer{out: out}, nil
}

// Add appends a block of pairs; safe for concurrent use.
func (w *Writer) Add(pairs []Pair) error {
	for len(pairs) > blockPairs {
		if err := w.Add(pairs[:blockPairs]); err != nil {
			return err
		}
		pairs = pairs[blockPairs:]
	}
	if len(pairs) == 0 {
		return nil
	}
	b := make([]byte, 0, 4+len(pairs)*recordBytes+8)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(pairs)))
	for i := range pairs {
		p := &pairs[i]
		b = data.AppendNumber(data.AppendNumber(b, p.A), p.B)
		b = append(b, p.Distance, byte(p.Evidence.Reason))
		b = binary.LittleEndian.AppendUint16(b, p.Evidence.Figure)
		b = p.Append(b)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n += int64(len(pairs))
	_, err := w.out.Write(binary.LittleEndian.AppendUint64(b, xxh3.Hash(b)))
	return err
}

// Len is the number of pairs so far.
func (w *Writer) Len() int64 { return w.n }

// Commit completes the file.
func (w *Writer) Commit() error {
	b := make([]byte, 4, 12)
	if _, err := w.out.Write(binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))); err != nil {
		return errors.Join(err, w.out.Abort())
	}
	return w.out.Commit()
}

// Abort removes what was not committed; after Commit it does nothing.
func (w *Writer) Abort() error { return w.out.Abort() }

// Each calls yield with the pairs of the file at path, in the order in which
// they were added, until yield returns an error or ctx ends.
func Each(ctx context.Context, path string, yield func(Pair) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := bufio.NewReaderSize(f, 1<<20)
	offset := int64(len(kind))
	damaged := func() error { return fmt.Errorf("%s at offset %d: %w", path, offset, data.ErrDamaged) }
	head := make([]byte, len(kind))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != kind {
		return damaged()
	}
	block := make([]byte, 4+blockPairs*recordBytes+8)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.ReadFull(in, block[:4]); err != nil {
			return damaged()
		}
		n := int(binary.LittleEndian.Uint32(block))
		if n > blockPairs {
			return damaged()
		}
		end := 4 + n*recordBytes
		if _, err := io.ReadFull(in, block[4:end+8]); err != nil || xxh3.Hash(block[:end]) != binary.LittleEndian.Uint64(block[end:]) {
			return damaged()
		}
		offset += int64(end) + 8
		if n == 0 {
			if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				return damaged()
			}
			return nil
		}
		for b := block[4:end]; len(b) > 0; b = b[recordBytes:] {
			if err := yield(unpack(b)); err != nil {
				return err
			}
		}
	}
}

func unpack(b []byte) (p Pair) {
	p.A, p.B = data.Number(b), data.Number(b[data.NumberBytes:])
	b = b[2*data.NumberBytes:]
	p.Distance, p.Evidence.Reason = b[0], data.Reason(b[1])
	p.Evidence.Figure = binary.LittleEndian.Uint16(b[2:])
	p.Overlap = data.UnpackOverlap(b[4:])
	return p
}
