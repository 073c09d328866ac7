// Package state reads and writes the files by which the stages of a run hand
// results to each other.
//
// All of them are checked files (see [File]): blocks, each with a checksum. Most
// hold records of fixed width, made of document numbers (AppendNumber) and of what
// was found of a pair (AppendFinding). Each package below this one stores one kind
// of file; job/docs/internals/run-directory.md describes them. The package
// decides nothing.
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
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// ErrDamaged is returned for a state file that differs from what was written, or
// is of another kind.
var ErrDamaged = errors.New("damaged: delete the file, and the same command makes it again")

// File writes a checked file, block by block. It begins with a line that names its
// kind. A block follows another:
//
//	length  8 bytes, little-endian
//	bytes   length
//	sum     8 bytes, little-endian: XXH3-64 of the bytes, with length as seed
//
// A block of length 0 ends the file, so that a file cut between two blocks is
// damaged too.
type File struct {
	mu   sync.Mutex
	file *data.AtomicFile
}

// Create starts the file at path, and makes its folder. The file appears at path
// with Commit.
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

// Write appends b as a block, unless b is empty. Safe for concurrent use. The
// caller may ignore the error: Commit returns it again.
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

// WritePieces appends n bytes, more than none, as a block, which come in pieces: for
// a block that is too large to be held. Otherwise it is like Write.
func (c *File) WritePieces(n int, pieces iter.Seq[[]byte]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	hash := xxh3.NewSeed(uint64(n))
	_, _ = c.file.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) // the first error stays
	for piece := range pieces {
		_, _ = hash.Write(piece) // has no error
		_, _ = c.file.Write(piece)
	}
	_, err := c.file.Write(binary.LittleEndian.AppendUint64(nil, hash.Sum64()))
	return err
}

// Commit completes the file. On error nothing of it is left.
func (c *File) Commit() error {
	_ = c.block(nil) // its error is the file's
	return c.file.Commit()
}

// Abort removes the file if it is not committed. After Commit it does nothing.
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

// Each calls yield with the blocks of the file at path, in order, until yield
// returns an error or ctx ends. It checks each block before it yields it; yield
// may retain the block. A file that is damaged or of another kind is ErrDamaged.
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
	take := func(n uint64) []byte { // the next n bytes; nil if the file does not have them
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

// Read returns all blocks of the file at path, joined, or ErrDamaged.
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

// Blocks reads the blocks of a file one by one, in any order. It opens the file
// anew for each. Safe for concurrent use.
type Blocks struct {
	path string
	at   []int64 // offset of each block, and the end of the last
}

// FindBlocks reads and checks the whole file at path, calls yield with its blocks
// as Each does, and returns their places.
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

// frameBytes is the size of a block's length and sum.
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

// WriteGob writes v, encoded as gob, as a checked file of one block.
func WriteGob(path, kind string, v any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return Write(path, kind, b.Bytes())
}

// ReadGob returns the value that WriteGob wrote, or ErrDamaged.
func ReadGob[T any](path, kind string) (v T, err error) {
	b, err := Read(path, kind)
	if err == nil && gob.NewDecoder(bytes.NewReader(b)).Decode(&v) != nil {
		err = fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return v, err
}
