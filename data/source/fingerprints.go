package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/csv"
	"github.com/neardup/neardup/data/parquet"
)

// The size of a split of fingerprints is that of one of the two, at least: ids
// can be compressed to next to nothing.
const (
	splitBytes = 16 << 20
	splitRows  = 1_000_000
)

// ExpandFingerprints lists splits of files of fingerprints in a fixed order:
// Parquet in row groups of 16 MiB or a million rows together or more, CSV and
// TSV whole. An argument is a run directory, which stands for its fingerprints
// table, or as of Expand.
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
	o := ExpandOptions{fingerprints: true}
	splits, err := Expand(args, o)
	if err != nil {
		return nil, err
	}
	var out []data.Split
	for _, s := range splits {
		switch s.Format {
		case FormatParquet:
			info, err := parquet.ReadInfo(s.Path)
			if err == nil {
				err = noFingerprints(s.Path, info.Table)
			}
			if err != nil {
				return nil, err
			}
			groups := int64(len(info.Groups))
			n := max(min(max(s.Size/splitBytes, info.Rows/splitRows), groups), 1)
			out = append(out, cutGroups(s, groups, n)...)
		case FormatCSV, FormatTSV:
			out = append(out, s)
		default:
			return nil, fmt.Errorf("%s: %w %q of fingerprints: %s", s.Path, ErrFormat, s.Format, o.remedy(""))
		}
	}
	return out, nil
}

// noFingerprints is an error for a file of another table than that of
// fingerprints, or of a library's documents, which have theirs.
func noFingerprints(path, table string) error {
	switch table {
	case "", data.Fingerprints.Name, data.LibraryDocuments.Name: // "": another program's
		return nil
	}
	return fmt.Errorf("%s: %w: it is of the table %s, which has no fingerprints: name the run directory, %s", path, ErrRefused, table, filepath.Dir(filepath.Dir(path)))
}

// FingerprintReader reads the rows of a split of fingerprints.
type FingerprintReader interface {
	// Read fills row, which is valid until the next call, and returns io.EOF
	// after the last.
	Read(row *data.FingerprintRow) error
	// SeekRow makes row, counted from the split's first and not before the
	// next one, the next that is read.
	SeekRow(row int64) error
	Close() error
}

// OpenFingerprints opens a split that ExpandFingerprints listed. Ids are as of
// data.ValidID; of a foreign file a row has id and fingerprint only, besides
// columns named as in the fingerprints table. Of Parquet only the wanted columns
// are read; nil means all.
func OpenFingerprints(split data.Split, columns data.ForeignColumns, wanted []string) (FingerprintReader, error) {
	var r FingerprintReader
	var err error
	if split.Format == FormatParquet {
		r, err = parquet.OpenFingerprints(split.Path, parquet.ReadOptions{Foreign: columns, Columns: wanted, Start: split.Start, End: split.End})
	} else {
		r, err = csv.OpenFingerprints(split, columns)
	}
	if err != nil { // r may hold a nil pointer
		return nil, err
	}
	return validFingerprints{r}, nil
}

type validFingerprints struct{ FingerprintReader }

func (r validFingerprints) Read(row *data.FingerprintRow) error {
	err := r.FingerprintReader.Read(row)
	if err == nil {
		row.DocID = data.ValidID(row.DocID)
	}
	return err
}

// ReadFingerprints calls yield for every row of what OpenFingerprints opens, in
// order, until yield returns an error or ctx ends. The row is valid during the
// call.
func ReadFingerprints(ctx context.Context, split data.Split, columns data.ForeignColumns, wanted []string, yield func(*data.FingerprintRow) error) error {
	r, err := OpenFingerprints(split, columns, wanted)
	if err != nil {
		return err
	}
	return parquet.Each(ctx, r, data.EmptyFingerprintRow(), yield)
}
