// Package pairs stores the pairs that a run's join finds: their number is not
// bounded by that of the documents. It is state that one stage hands to the
// next; formats.md describes the file. It never looks at what a pair says.
package pairs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
)

// Pair is a pair as the file holds it.
type Pair struct {
	data.Pair
	data.Overlap
}

// A file is a line that names its kind, then blocks: uint32 records, the
// records, an XXH3-64 checksum of both, little-endian; a block of no records
// ends it.
const (
	kind       = "neardup pairs 2\n"
	blockPairs = 4096
)

// RecordBytes is the width of a pair's record: the numbers of both documents,
// and what was found of them.
const RecordBytes = 2*state.NumberBytes + state.FindingBytes

// Append appends the record of a pair to dst. Records sort as the documents do.
func Append(dst []byte, p *Pair) []byte {
	dst = state.AppendNumber(state.AppendNumber(dst, p.A), p.B)
	return state.AppendFinding(dst, p.Distance, p.Evidence, p.Overlap)
}

// Unpack is the pair whose record b starts with.
func Unpack(b []byte) (p Pair) {
	p.A, p.B = state.Number(b), state.Number(b[state.NumberBytes:])
	p.Distance, p.Evidence, p.Overlap = state.Finding(b[2*state.NumberBytes:])
	return p
}

// Writer writes a file of pairs.
type Writer struct {
	mu  sync.Mutex
	out *data.AtomicFile
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
	b := make([]byte, 0, 4+len(pairs)*RecordBytes+8)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(pairs)))
	for i := range pairs {
		b = Append(b, &pairs[i])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(binary.LittleEndian.AppendUint64(b, xxh3.Hash(b)))
	return err
}

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
func Each(ctx context.Context, path string, yield func(Pair) error) error {
	return blocks(ctx, path, func(b []byte) error { return unpack(b, yield) })
}

// Concurrently is Each for a yield that many workers may call at once, in no
// order.
func Concurrently(ctx context.Context, path string, workers int, yield func(Pair) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	err := blocks(ctx, path, func(b []byte) error {
		own := bytes.Clone(b)
		group.Go(func() error { return unpack(own, yield) })
		return nil
	})
	if failed := group.Wait(); failed != nil {
		return failed // err is that ctx ended
	}
	return err
}

// unpack calls yield with the pairs of a block's records.
func unpack(b []byte, yield func(Pair) error) error {
	for ; len(b) > 0; b = b[RecordBytes:] {
		if err := yield(Unpack(b)); err != nil {
			return err
		}
	}
	return nil
}

// blocks calls yield with the records of each block of the file at path.
func blocks(ctx context.Context, path string, yield func(records []byte) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := bufio.NewReaderSize(f, 1<<20)
	offset := int64(len(kind))
	damaged := func() error { return fmt.Errorf("%s at offset %d: %w", path, offset, state.ErrDamaged) }
	head := make([]byte, len(kind))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != kind {
		return damaged()
	}
	block := make([]byte, 4+blockPairs*RecordBytes+8)
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
		end := 4 + n*RecordBytes
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
		if err := yield(block[4:end]); err != nil {
			return err
		}
	}
}
