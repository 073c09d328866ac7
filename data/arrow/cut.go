package arrow

import (
	"errors"
	"fmt"
	"io"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
)

// Cut cuts a file, which is not compressed as a whole, into splits of about size bytes
// each, between its record batches. What cannot be read is in the last split, whose
// reader says so.
func Cut(file data.Split, size int64) (splits []data.Split, err error) {
	f, err := object.Open(file.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	in := messages{in: io.NewSectionReader(f, 0, file.Size)}
	head := make([]byte, len(fileMagic))
	if err := in.fill(head); err != nil {
		return []data.Split{file}, failed(file, err)
	}
	begin := int64(0)
	if string(head) == fileMagic {
		if _, begin, err = first(f, file.Size); err != nil {
			if errors.As(err, new(*data.Unreadable)) { // of which who opens it says so
				err = nil
			}
			return []data.Split{file}, err
		}
	}
	if err := in.skip(begin - in.at); err != nil {
		return nil, err
	}
	piece, row := file, int64(0)
	for {
		msg, err := in.next()
		if errors.Is(err, errEnd) || errors.Is(err, io.EOF) || errors.Is(err, errDamaged) {
			break
		}
		if err != nil {
			return nil, failed(file, err)
		}
		if msg.body > file.Size-in.at {
			break
		}
		if msg.kind == batchMessage && msg.at-piece.Start >= size && file.Size-msg.at >= size/2 {
			piece.End = msg.at
			splits = append(splits, piece)
			piece.Start, piece.Row = msg.at, row
		}
		if msg.kind == batchMessage {
			row += msg.rows
		}
		if err := in.skip(msg.body); err != nil {
			return nil, failed(file, err)
		}
	}
	if piece.Start > 0 {
		piece.End = file.Size
	}
	return append(splits, piece), nil
}

// failed names the file of an error that is no damage.
func failed(file data.Split, err error) error {
	if errors.Is(err, errDamaged) || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("arrow: %s: %w", file.Path, err)
}
