package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
)

// unreadReader reads a file none of whose records can be read: as one bad record
// that stands for all of them.
type unreadReader struct {
	split  data.Split
	damage *data.Unreadable

	told, closed bool
	digest       string
}

func (r *unreadReader) Read(*data.Document) error {
	switch {
	case r.closed:
		return os.ErrClosed
	case !r.told:
		r.told = true
		return &data.BadRecord{Source: r.split.Path, Offset: r.damage.Offset, Reason: data.ReasonUnreadable, Err: r.damage.Err}
	case r.digest == "" && r.split.Path != "-":
		if err := r.sum(); err != nil {
			return fmt.Errorf("%s: %w", r.split.Path, err)
		}
	}
	return io.EOF
}

// sum digests the file.
func (r *unreadReader) sum() error {
	f, err := object.Open(r.split.Path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	r.digest = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// Consumed is all of the file once it is known to be unreadable.
func (r *unreadReader) Consumed() int64 {
	if !r.told {
		return 0
	}
	return max(r.split.Size, 0)
}

func (r *unreadReader) Digest() string   { return r.digest }
func (r *unreadReader) Encoding() string { return "" }

func (r *unreadReader) Close() error {
	r.closed = true
	return nil
}
