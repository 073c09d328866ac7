package parquet

import (
	"context"
	"errors"
	"io"

	"github.com/neardup/neardup/data"
)

// ReadFingerprints calls yield for every row of a fingerprints file in order,
// until yield returns an error or ctx ends. The row is valid during the call.
func ReadFingerprints(ctx context.Context, path string, o ReadOptions, yield func(*data.FingerprintRow) error) error {
	r, err := OpenFingerprints(path, o)
	if err != nil {
		return err
	}
	row := data.EmptyFingerprintRow()
	return errors.Join(each(ctx, func() error { return r.Read(&row) }, func() error { return yield(&row) }), r.Close())
}

// each reads and yields until the end.
func each(ctx context.Context, read, yield func() error) error {
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := read(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := yield(); err != nil {
			return err
		}
	}
}
