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
	"cmp"
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
func Each(ctx context.Context, path, kind string, yield func(block []byte) error) error {
	return each(ctx, path, kind, func(in *block) error {
		body := make([]byte, in.size)
		_, _ = io.ReadFull(in, body) // check finds what is missing
		if err := in.check(); err != nil {
			return err
		}
		return yield(body)
	})
}

// each calls visit with the blocks of the file at path, until it returns an error or
// ctx ends. Each visit must check its block.
func each(ctx context.Context, path, kind string, visit func(in *block) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in, at := bufio.NewReaderSize(f, int(min(info.Size(), pieceBytes))), int64(len(kind)+1)
	line := make([]byte, min(at, info.Size()))
	if _, err := io.ReadFull(in, line); string(line) != kind+"\n" {
		return damaged(path, 0, err)
	}
	for ctx.Err() == nil {
		b, err := openBlock(path, at, in, info.Size()-at)
		if err != nil {
			return err
		}
		at += frameBytes + b.size
		if b.size > 0 {
			err = visit(b)
		} else if err = b.check(); err == nil && at < info.Size() {
			err = damaged(path, at, nil)
		}
		if b.size == 0 || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// damaged returns ErrDamaged with its place and what the file system says, if
// that is more than that the file ends.
func damaged(path string, at int64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return fmt.Errorf("%s at offset %d: %w", path, at, errors.Join(ErrDamaged, err))
}

const (
	frameBytes = 16       // a block's length and sum
	pieceBytes = 64 << 10 // read at once
)

// block reads the bytes of a block. They are to be believed when check has returned
// nil.
type block struct {
	path     string
	at, size int64 // where its frame begins, and the bytes in it
	in       io.Reader
	hash     *xxh3.Hasher
	left     int64
}

// openBlock begins the block at offset at of the file at path, where in stands, which
// has most bytes from there.
func openBlock(path string, at int64, in io.Reader, most int64) (*block, error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, damaged(path, at, err)
	}
	size := binary.LittleEndian.Uint64(head[:])
	if most < frameBytes || size > uint64(most-frameBytes) {
		return nil, damaged(path, at, nil)
	}
	return &block{path: path, at: at, size: int64(size), in: in, hash: xxh3.NewSeed(size), left: int64(size)}, nil
}

func (b *block) Read(p []byte) (n int, err error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err = b.in.Read(p[:min(int64(len(p)), b.left)])
	_, _ = b.hash.Write(p[:n]) // has no error
	b.left -= int64(n)
	return n, err
}

// check reads what is left of the block, and returns ErrDamaged if the block is not
// what was written.
func (b *block) check() error {
	var sum [8]byte
	_, err := io.Copy(io.Discard, b)
	if err == nil {
		_, err = io.ReadFull(b.in, sum[:])
	}
	if err != nil || b.left > 0 || b.hash.Sum64() != binary.LittleEndian.Uint64(sum[:]) {
		return damaged(b.path, b.at, err)
	}
	return nil
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

// FindBlocks reads and checks the whole file at path, calls yield with the first n
// bytes of each block, or all if it has fewer, and returns their places. yield must
// not retain them.
func FindBlocks(ctx context.Context, path, kind string, n int, yield func(head []byte) error) (*Blocks, error) {
	b, head := &Blocks{path, []int64{int64(len(kind) + 1)}}, make([]byte, n)
	err := each(ctx, path, kind, func(in *block) error {
		read, _ := io.ReadFull(in, head[:min(int64(n), in.size)]) // check finds what is missing
		if err := in.check(); err != nil {
			return err
		}
		b.at = append(b.at, in.at+frameBytes+in.size)
		return yield(head[:read])
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Read calls decode with block i and its size in bytes. It returns ErrDamaged if the
// block is not what FindBlocks found: nothing that decode has read is to be believed
// before Read has returned nil.
func (b *Blocks) Read(i int, decode func(in io.Reader, size int64) error) (err error) {
	f, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size := b.at[i+1] - b.at[i]
	in, err := openBlock(b.path, b.at[i], bufio.NewReaderSize(io.NewSectionReader(f, b.at[i], size), int(min(size, pieceBytes))), size)
	if err != nil {
		return err
	}
	if in.size != size-frameBytes {
		return damaged(b.path, b.at[i], nil)
	}
	err = decode(in, in.size)
	return cmp.Or(in.check(), err)
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
