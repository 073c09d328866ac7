// Package state is the parts of a run's state that its stages hand to each
// other: checked files, and the numbers and findings that their records are
// made of. The packages below it store one kind each; run-directory.md describes
// their files. It decides nothing.
package state

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// ErrDamaged is returned for a file of a run's state that is not as it was
// written.
var ErrDamaged = errors.New("damaged: delete the file, and the same command makes it again")

// File is a file of a run's state that is written block by block: a line that
// names its kind, then for each block the number of its bytes, the bytes, and
// their XXH3-64 with that number as seed; numbers are little-endian, 8 bytes
// each. A block of no bytes ends the file.
type File struct {
	mu   sync.Mutex
	file *data.AtomicFile
}

// Create starts the file at path, whose folder it makes. Nothing stands there
// before Commit.
func Create(path, kind string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := data.CreateAtomic(path)
	if err != nil {
		return nil, err
	}
	_, err = f.Write([]byte(kind + "\n"))
	return &File{file: f}, err
}

// Write appends a block; it is safe for concurrent use. An error is that of
// Commit, too.
func (c *File) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return len(b), c.block(b)
}

func (c *File) block(b []byte) error {
	sum := xxh3.HashSeed(b, uint64(len(b)))
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.file.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b)))) // the first error stays
	_, _ = c.file.Write(b)
	_, err := c.file.Write(binary.LittleEndian.AppendUint64(nil, sum))
	return err
}

// Commit completes the file; on error nothing of it is left.
func (c *File) Commit() error {
	_ = c.block(nil) // its error is the file's
	return c.file.Commit()
}

// Abort removes what was not committed; after Commit it does nothing.
func (c *File) Abort() error { return c.file.Abort() }

// Write writes a checked file of one block.
func Write(path, kind string, body []byte) error {
	f, err := Create(path, kind)
	if err != nil {
		return err
	}
	_, _ = f.Write(body)
	return f.Commit()
}

// Each calls yield with the blocks of a File, in their order and each its own to
// keep, until yield returns an error or ctx ends. What is not as it was written
// is ErrDamaged.
func Each(ctx context.Context, path, kind string, yield func(block []byte) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in, left, start := bufio.NewReaderSize(f, int(min(info.Size(), 1<<16))), info.Size(), int64(0)
	damaged := func() error { return fmt.Errorf("%s at offset %d: %w", path, start, ErrDamaged) }
	take := func(n uint64) []byte { // nil: the file has not so many bytes more
		if n > uint64(left) {
			return nil
		}
		left -= int64(n)
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil
		}
		return b
	}
	if line := kind + "\n"; string(take(uint64(len(line)))) != line {
		return damaged()
	}
	for ctx.Err() == nil {
		start = info.Size() - left
		head := take(8)
		if head == nil {
			return damaged()
		}
		size := binary.LittleEndian.Uint64(head)
		block, sum := take(size), take(8)
		if block == nil || sum == nil || xxh3.HashSeed(block, size) != binary.LittleEndian.Uint64(sum) || size == 0 && left > 0 {
			return damaged()
		}
		if size == 0 {
			return nil
		}
		if err := yield(block); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Read returns the blocks of a File as one, or ErrDamaged.
func Read(path, kind string) (body []byte, err error) {
	err = Each(context.Background(), path, kind, func(block []byte) error {
		if body == nil {
			body = block
		} else {
			body = append(body, block...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// Blocks are the blocks of a File, to be read one by one, in any order. They hold no
// file open, and are safe for concurrent use.
type Blocks struct {
	path string
	at   []int64 // where each begins, and where the last ends
}

// FindBlocks checks all of the File at path, and calls yield with its blocks as Each
// does.
func FindBlocks(ctx context.Context, path, kind string, yield func(block []byte) error) (*Blocks, error) {
	b := &Blocks{path, []int64{int64(len(kind) + 1)}}
	err := Each(ctx, path, kind, func(block []byte) error {
		b.at = append(b.at, b.at[len(b.at)-1]+int64(len(block))+frameBytes)
		return yield(block)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// frameBytes are those of a block's length and sum.
const frameBytes = 16

// Read returns block i, or ErrDamaged.
func (b *Blocks) Read(i int) (_ []byte, err error) {
	f, err := os.Open(b.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	framed := make([]byte, b.at[i+1]-b.at[i])
	_, err = f.ReadAt(framed, b.at[i])
	size := uint64(len(framed) - frameBytes)
	block, sum := framed[8:8+size], framed[8+size:]
	if err != nil || binary.LittleEndian.Uint64(framed) != size || xxh3.HashSeed(block, size) != binary.LittleEndian.Uint64(sum) {
		return nil, fmt.Errorf("%s at offset %d: %w", b.path, b.at[i], errors.Join(ErrDamaged, err))
	}
	return block, nil
}

// WriteGob writes v as the body of a checked file.
func WriteGob(path, kind string, v any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return Write(path, kind, b.Bytes())
}

// ReadGob returns what WriteGob wrote, or ErrDamaged.
func ReadGob[T any](path, kind string) (v T, err error) {
	b, err := Read(path, kind)
	if err == nil && gob.NewDecoder(bytes.NewReader(b)).Decode(&v) != nil {
		err = fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return v, err
}
