package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/zeebo/xxh3"
)

// ErrDamaged is returned for a file of a run's state that is not as it was
// written.
var ErrDamaged = errors.New("damaged: delete the file, and the same command makes it again")

// WriteChecked writes a file of a run's state, whole or not at all: a line that
// names its kind, the body, and an XXH3-64 checksum of both, little-endian.
func WriteChecked(path, kind string, body []byte) error {
	f, err := CreateAtomic(path)
	if err != nil {
		return err
	}
	h := xxh3.New()
	for _, b := range [][]byte{[]byte(kind + "\n"), body} {
		_, _ = h.Write(b)
		if _, err := f.Write(b); err != nil {
			return errors.Join(err, f.Abort())
		}
	}
	if _, err := f.Write(binary.LittleEndian.AppendUint64(nil, h.Sum64())); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit()
}

// ReadChecked returns the body of a file that WriteChecked wrote, or
// ErrDamaged.
func ReadChecked(path, kind string) ([]byte, error) {
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
