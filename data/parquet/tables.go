package parquet

import (
	"context"
	"errors"

	"github.com/neardup/neardup/data"
)

// OpenTable opens a file of a table of a run or of a library, as package data
// states it.
func OpenTable[R any](path string, t *data.Table[R], o ReadOptions) (*TableReader[R], error) {
	return open(path, t, o, nil)
}

// ReadTable calls yield for every row of a file of a table, in order, until
// yield returns an error or ctx ends. The row is valid during the call.
func ReadTable[R any](ctx context.Context, path string, t *data.Table[R], yield func(*R) error) error {
	r, err := OpenTable(path, t, ReadOptions{})
	if err != nil {
		return err
	}
	return Each(ctx, r, *new(R), yield)
}

// WriteTable writes the rows as a table at path, whole or not at all.
func WriteTable[R any](path string, t *data.Table[R], o Options, rows []*R) (err error) {
	out, err := Create(path, t, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	for _, row := range rows {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Commit()
}

// OpenFingerprints opens a file of data.Fingerprints, or a foreign one that
// has an id and a fingerprint column; other columns may be missing.
func OpenFingerprints(path string, o ReadOptions) (*TableReader[data.FingerprintRow], error) {
	return open(path, &data.Fingerprints, o, &o.Foreign)
}

// ReadFingerprints reads what OpenFingerprints opens, as ReadTable.
func ReadFingerprints(ctx context.Context, path string, o ReadOptions, yield func(*data.FingerprintRow) error) error {
	r, err := OpenFingerprints(path, o)
	if err != nil {
		return err
	}
	return Each(ctx, r, data.EmptyFingerprintRow(), yield)
}
