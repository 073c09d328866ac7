// Package state is the parts of a run's state that its stages hand to each
// other: checked files, and the numbers and findings that their records are
// made of. The packages below it store one kind each; formats.md describes
// their files. It decides nothing.
package state

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// ErrDamaged is returned for a file of a run's state that is not as it was
// written.
var ErrDamaged = errors.New("damaged: delete the file, and the same command makes it again")

// File is a file of a run's state that is written piece by piece: a line
// that names its kind, the body, and an XXH3-64 checksum of both,
// little-endian.
type File struct {
	file *data.AtomicFile
	hash *xxh3.Hasher
}

// Create starts the file at path, whose folder it makes. Nothing stands there
// before Commit.
func Create(path, kind string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := data.CreateAtomic(path)
	if err != nil {
		return nil, err
	}
	c := &File{f, xxh3.New()}
	_, err = c.Write([]byte(kind + "\n"))
	return c, err
}

// Write appends to the body. An error is that of Commit, too.
func (c *File) Write(b []byte) (int, error) {
	_, _ = c.hash.Write(b)
	return c.file.Write(b)
}

// Commit completes the file; on error nothing of it is left.
func (c *File) Commit() error {
	_, _ = c.file.Write(binary.LittleEndian.AppendUint64(nil, c.hash.Sum64()))
	return c.file.Commit()
}

// Abort removes what was not committed; after Commit it does nothing.
func (c *File) Abort() error { return c.file.Abort() }

// Write writes a checked file at once.
func Write(path, kind string, body []byte) error {
	f, err := Create(path, kind)
	if err != nil {
		return err
	}
	_, _ = f.Write(body)
	return f.Commit()
}

// Read returns the body of a File, or ErrDamaged.
func Read(path, kind string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	start, end := len(kind)+1, len(b)-8
	if end < start || string(b[:start]) != kind+"\n" || xxh3.Hash(b[:end]) != binary.LittleEndian.Uint64(b[end:]) {
		return nil, fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return b[start:end], nil
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
