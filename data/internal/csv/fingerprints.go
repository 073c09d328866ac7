package csv

import (
	"errors"
	"fmt"
	"io"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
)

// FingerprintReader streams the fingerprints of a CSV or TSV file with an id
// and a fingerprint column, as field.ParseFingerprint takes it.
type FingerprintReader struct {
	*table
	id, fingerprint int
	hexadecimal     bool
	row             int64 // the next
}

// OpenFingerprints opens a file of fingerprints, which is not standard input.
func OpenFingerprints(split data.Split, columns data.ForeignColumns) (*FingerprintReader, error) {
	r, err := openFingerprints(split, columns)
	if err != nil || columns.Hex {
		return r, err
	}
	// A first look at the column tells what its numbers are.
	columns.Hex, err = field.Hexadecimal(func() ([]byte, error) {
		_, err := r.next()
		if _, bad := data.IsBadRecord(err); bad {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []byte(r.fields[r.fingerprint]), nil
	})
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return openFingerprints(split, columns)
}

func openFingerprints(split data.Split, columns data.ForeignColumns) (*FingerprintReader, error) {
	t, err := openTable(split, data.ReaderOptions{Encoding: "utf-8"}) // an id is the bytes that it is
	if err != nil {
		return nil, err
	}
	r := &FingerprintReader{table: t, hexadecimal: columns.Hex}
	if t.header == nil {
		return nil, errors.Join(fmt.Errorf("csv: %s: no header row: the file is empty, or damaged within it", split.Path), t.Close())
	}
	r.id, err = field.Need(t.header, columns.ID, field.OfID, field.UsualID)
	if err == nil {
		r.fingerprint, err = field.Need(t.header, columns.Fingerprint, field.OfFingerprint, field.UsualFingerprint)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("csv: %s: %w", split.Path, err), t.Close())
	}
	return r, nil
}

// Read fills the row's id and fingerprint, and returns io.EOF after the last
// row. A row without them is an error: a fingerprint table has no bad rows.
func (r *FingerprintReader) Read(row *data.FingerprintRow) error {
	offset, err := r.next()
	if err != nil {
		return err
	}
	r.row++
	if row.DocID = append(row.DocID[:0], r.fields[r.id]...); len(row.DocID) == 0 {
		return fmt.Errorf("csv: %s at offset %d: a row without an id", r.path, offset)
	}
	row.Hi, row.Lo, err = field.ParseFingerprint([]byte(r.fields[r.fingerprint]), r.hexadecimal)
	if err != nil {
		return fmt.Errorf("csv: %s at offset %d: %w", r.path, offset, err)
	}
	return nil
}

// SeekRow makes row, counted from 0 and not before the next one, the next that
// is read; there is none if the file ends before it.
func (r *FingerprintReader) SeekRow(row int64) error {
	for ; r.row < row; r.row++ {
		if _, err := r.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}
