package job

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/reducer"
)

// pairFile keeps the pairs that the engine finds, nine bytes each, on disk:
// their number is not bounded by that of the documents. It notes the
// documents that occur.
type pairFile struct {
	mu      sync.Mutex
	file    *os.File
	out     *bufio.Writer
	matched *reducer.Subset
}

const pairBytes = 9 // A and B, little-endian, and the distance

func createPairFile(path string, documents int) (*pairFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("pairs: %w", err)
	}
	return &pairFile{file: f, out: bufio.NewWriterSize(f, 1<<20), matched: reducer.NewSubset(documents)}, nil
}

// add takes pairs; it is safe for concurrent use.
func (f *pairFile) add(pairs []data.Pair) error {
	packed := make([]byte, 0, len(pairs)*pairBytes)
	for _, p := range pairs {
		f.matched.Add(p.A)
		f.matched.Add(p.B)
		packed = binary.LittleEndian.AppendUint32(packed, p.A)
		packed = binary.LittleEndian.AppendUint32(packed, p.B)
		packed = append(packed, p.Distance)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.out.Write(packed); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	return nil
}

// each calls yield with every pair, in the order in which they came.
func (f *pairFile) each(ctx context.Context, yield func(data.Pair) error) error {
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	in := bufio.NewReaderSize(f.file, 1<<20)
	var b [pairBytes]byte
	for n := 0; ; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch _, err := io.ReadFull(in, b[:]); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("pairs: %w", err)
		}
		err := yield(data.Pair{A: binary.LittleEndian.Uint32(b[:]), B: binary.LittleEndian.Uint32(b[4:]), Distance: b[8]})
		if err != nil {
			return err
		}
	}
}

func (f *pairFile) close() error {
	return errors.Join(f.file.Close(), os.Remove(f.file.Name()))
}

// bitmap reads rows' bits from a file of eight rows a byte, in order.
type bitmap struct {
	file *os.File
	in   *bufio.Reader
	have byte
	n    uint64
}

// openBitmap opens the bitmap at path and stands at bit start.
func openBitmap(path string, start uint64) (*bitmap, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b := &bitmap{file: f, in: bufio.NewReader(f), n: start}
	if _, err := f.Seek(int64(start/8), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if start%8 != 0 {
		if b.have, err = b.in.ReadByte(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
	}
	return b, nil
}

// next returns the next bit.
func (b *bitmap) next() (bool, error) {
	if b.n%8 == 0 {
		var err error
		if b.have, err = b.in.ReadByte(); err != nil {
			return false, fmt.Errorf("%s: %w", b.file.Name(), err)
		}
	}
	bit := b.have>>(b.n%8)&1 == 1
	b.n++
	return bit, nil
}

func (b *bitmap) close() error { return b.file.Close() }
