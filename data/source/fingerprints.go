package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/csv"
	"github.com/neardup/neardup/data/parquet"
)

// ExpandFingerprints lists files of fingerprints in a fixed order, a split
// for each: Parquet, CSV and TSV. An argument is a run directory, which
// stands for its fingerprints table, or as of Expand.
func ExpandFingerprints(args []string) ([]data.Split, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "-" {
			return nil, fmt.Errorf("%w: fingerprints are not read from standard input: write them to a file and name that", ErrFormat)
		}
		table := filepath.Join(arg, data.Fingerprints.Name)
		if info, err := os.Stat(table); err == nil && info.IsDir() {
			args[i] = table
		}
	}
	splits, err := Expand(args, ExpandOptions{})
	if err != nil {
		return nil, err
	}
	for i := range splits {
		switch s := &splits[i]; s.Format {
		case FormatParquet, FormatCSV, FormatTSV:
			s.Start, s.End = 0, -1
		default:
			return nil, fmt.Errorf("%s: %w %q of fingerprints: they are read from Parquet, CSV and TSV", s.Path, ErrFormat, s.Format)
		}
	}
	return slices.CompactFunc(splits, func(a, b data.Split) bool { return a.Path == b.Path }), nil
}

// ReadFingerprints calls yield for every row of a split that
// ExpandFingerprints listed, in order, until yield returns an error or ctx
// ends. The row is valid during the call, its id as of data.ValidID; of a foreign file it has id and
// fingerprint only, besides columns named as in the fingerprints table.
func ReadFingerprints(ctx context.Context, split data.Split, columns data.ForeignColumns, yield func(*data.FingerprintRow) error) error {
	valid := func(row *data.FingerprintRow) error {
		row.DocID = data.ValidID(row.DocID)
		return yield(row)
	}
	if split.Format == FormatParquet {
		return parquet.ReadFingerprints(ctx, split.Path, parquet.ReadOptions{Foreign: columns}, valid)
	}
	r, err := csv.OpenFingerprints(split, columns)
	if err != nil {
		return err
	}
	return errors.Join(readAll(ctx, r, valid), r.Close())
}

func readAll(ctx context.Context, r *csv.FingerprintReader, yield func(*data.FingerprintRow) error) error {
	row := data.EmptyFingerprintRow()
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.Read(&row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := yield(&row); err != nil {
			return err
		}
	}
}
