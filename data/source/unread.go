package source

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/stream"
	"github.com/neardup/neardup/data/object"
)

// unreadReader reads a file none of whose records can be read: as one bad record
// that stands for all of them.
type unreadReader struct {
	split   data.Split
	options data.ReaderOptions
	damage  *data.Unreadable

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
	f, err := object.OpenInput(r.split, r.options)
	if err != nil {
		return err
	}
	r.digest, err = stream.Digest(f, nil)
	return errors.Join(err, f.Close())
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
