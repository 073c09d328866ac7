package source

import (
	"fmt"
	"io"
	"os"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/stream"
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
		var err error
		if r.digest, err = stream.Digest(r.split.Path, nil); err != nil {
			return fmt.Errorf("%s: %w", r.split.Path, err)
		}
	}
	return io.EOF
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
