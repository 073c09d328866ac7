package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/rundir"
)

// ErrChanged says that a split is not what it was when its file was listed, or
// fingerprinted.
func ErrChanged(split data.Split) error {
	err := fmt.Errorf("%s has changed since the run began", split.Path)
	if info, failed := object.Stat(split.Path); failed == nil && split.Size >= 0 && info.Size > split.Size {
		return fmt.Errorf("%w: it has grown from %d to %d bytes: wait until it is written, and run again into a new folder", err, split.Size, info.Size)
	}
	return fmt.Errorf("%w: run again into a new folder", err)
}

// openAgain opens the documents of split task of the run in folder dir once
// more, as many as it was fingerprinted with: from the run's own texts where
// they were extracted, else from the input, read with options o.
func openAgain(dir string, m rundir.Manifest, task int, o data.ReaderOptions) (data.SourceReader, error) {
	split := m.Splits[task]
	if KeepsTexts(m, split) {
		return openTexts(dir, task, split)
	}
	in, err := source.Open(split, o)
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(split.Path) {
		err = fmt.Errorf("%w: run this in the folder that the run was started in", err)
	}
	return in, err
}

// KeepsTexts reports whether a run has the texts of a split itself.
func KeepsTexts(m rundir.Manifest, split data.Split) bool {
	return m.HasTexts() && source.Extracts(split.Format)
}

// EachRow calls yield with the documents of those rows, ascending, of split
// task of the run in folder dir; i counts them. The document is used again for
// the next.
func EachRow(ctx context.Context, dir string, m rundir.Manifest, task int, o data.ReaderOptions, rows []int64, yield func(i int, doc *data.Document) error) (err error) {
	if len(rows) == 0 {
		return nil
	}
	in, err := openAgain(dir, m, task, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	texts, _ := in.(*textsReader)
	var doc data.Document
	at := int64(0)
	for i, row := range rows {
		if texts != nil {
			if err := texts.seekRow(row); err != nil {
				return err
			}
			at = row
		}
		for ; at <= row; at++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := nextDocument(in, &doc)
			if errors.Is(err, io.EOF) {
				return ErrChanged(m.Splits[task])
			}
			if err != nil {
				return err
			}
		}
		if err := yield(i, &doc); err != nil {
			return err
		}
	}
	return nil
}

// EachDocument calls yield with the documents of a split, in their order,
// without its bad records, of which skip is told: a file that cannot be read is
// one, where options have it so. It stops at yield's first
// error. The document is used again for the next. Advance is told of input bytes
// as they are read.
func EachDocument(ctx context.Context, split data.Split, options data.ReaderOptions, advance func(int64), skip func(*data.BadRecord), yield func(*data.Document) error) (err error) {
	options.Workers = runtime.GOMAXPROCS(0)
	in, err := source.Open(split, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var doc data.Document
	tell := consumed(in, advance)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := in.Read(&doc)
		tell()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bad, is := data.IsBadRecord(err); is {
			skip(bad)
			continue
		}
		if err == nil {
			err = yield(&doc)
		}
		if err != nil {
			return err
		}
	}
}

// consumed returns what tells advance of the bytes that in has consumed since it
// was called last.
func consumed(in data.SourceReader, advance func(int64)) (tell func()) {
	last := int64(0)
	return func() {
		now := in.Consumed()
		advance(now - last)
		last = now
	}
}

// nextDocument reads the next document. It passes over bad records, which the
// fingerprint stage counts and keeps.
func nextDocument(in data.Reader, doc *data.Document) error {
	for {
		err := in.Read(doc)
		if _, bad := data.IsBadRecord(err); !bad {
			return err
		}
	}
}

// BytesOf sums the sizes of the given splits, for progress; 0 when one is not
// known.
func BytesOf(splits []data.Split) (n int64) {
	for _, s := range splits {
		switch {
		case s.Size < 0:
			return 0
		case s.Format == source.FormatParquet:
			if s.Start == 0 { // the first row group's split stands for the file
				n += s.Size
			}
		case s.End < 0:
			n += s.Size
		default:
			n += s.End - s.Start
		}
	}
	return n
}

// rowsOf is how many rows the given splits of fingerprint files have, or 0 if
// that is not known before they are read.
func rowsOf(splits []data.Split) (n int64, err error) {
	for _, s := range splits {
		switch {
		case s.Format != source.FormatParquet:
			return 0, nil
		case s.Start == 0:
			info, err := parquet.ReadInfo(s.Path)
			if err != nil {
				return 0, err
			}
			n += info.Rows
		}
	}
	return n, nil
}
