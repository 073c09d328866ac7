// Package input reads what a run is made from: it lists the splits of files that
// a user names, reads their documents, and reads documents again of a run that
// exists, from the texts that the run has kept or else from the files.
//
// It reads and does not write, and decides nothing about a document.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/rundir"
)

// ErrChanged returns the error for a split of which a file has changed since it was
// listed or fingerprinted. It names the file if its size tells which, and says so if it
// has merely grown.
func ErrChanged(split data.Split) error {
	err := fmt.Errorf("%s has changed since the run began", split.Path)
	if len(split.Files) > 0 {
		err = fmt.Errorf("%s or one of the %d files behind it has changed since the run began", split.Path, len(split.Files)-1)
	}
	for one := range split.OfFiles() {
		info, failed := object.Stat(one.Path)
		if failed == nil && (one.Size < 0 || info.Size == one.Size) {
			continue
		}
		err = fmt.Errorf("%s has changed since the run began", one.Path)
		if failed == nil && info.Size > one.Size {
			return fmt.Errorf("%w: it has grown from %d to %d bytes: wait until it is written, and run again into a new folder", err, one.Size, info.Size)
		}
		break
	}
	return fmt.Errorf("%w: run again into a new folder", err)
}

// OpenAgain opens the documents of split task a second time, for the run in
// folder dir: from the run's own texts if it extracted them, else from the
// input, with options o. The input is looked for where it was when the run began,
// and by its relative path below the folder of this program: both may have moved.
func OpenAgain(dir string, m rundir.Manifest, task int, o data.ReaderOptions) (data.SourceReader, error) {
	split := m.Splits[task]
	if KeepsTexts(m, split) {
		return openTexts(dir, task, split)
	}
	in, err := source.Open(m.Split(task), o)
	if errors.Is(err, fs.ErrNotExist) && !m.Split(task).Equal(split) {
		if here, failed := source.Open(split, o); failed == nil {
			return here, nil
		}
	}
	return in, err
}

// KeepsTexts reports whether the run directory holds the texts of a split, which
// it does for formats whose texts are extracted.
func KeepsTexts(m rundir.Manifest, split data.Split) bool {
	return m.HasTexts() && source.Extracts(split.Format)
}

// EachRow calls yield with the documents at the given rows of split task of the
// run in folder dir; i is the index into rows, which must ascend. yield must not
// retain doc, which is reused. It returns ErrChanged if the split has fewer rows.
func EachRow(ctx context.Context, dir string, m rundir.Manifest, task int, o data.ReaderOptions, rows []int64, yield func(i int, doc *data.Document) error) (err error) {
	if len(rows) == 0 {
		return nil
	}
	in, err := OpenAgain(dir, m, task, o)
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
			err := Next(in, &doc)
			if errors.Is(err, io.EOF) {
				return ErrChanged(m.Split(task))
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

// EachDocument calls yield with the documents of a split, in order, until yield
// returns an error. yield must not retain the document, which is reused. For a
// bad record it calls skip instead and goes on; if the options say so, a file
// that cannot be read is one bad record. advance is called with the bytes of the
// input as they are read.
func EachDocument(ctx context.Context, split data.Split, options data.ReaderOptions, advance func(int64), skip func(*data.BadRecord), yield func(*data.Document) error) (err error) {
	options.Workers = runtime.GOMAXPROCS(0)
	in, err := source.Open(split, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var doc data.Document
	tell := Teller(in, advance)
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

// Teller returns a function that calls advance with the number of bytes that
// in has consumed since its last call.
func Teller(in data.SourceReader, advance func(int64)) (tell func()) {
	last := int64(0)
	return func() {
		now := in.Consumed()
		advance(now - last)
		last = now
	}
}

// Next reads the next document and skips bad records, since the stage
// fingerprint has counted and quarantined them already.
func Next(in data.Reader, doc *data.Document) error {
	for {
		err := in.Read(doc)
		if _, bad := data.IsBadRecord(err); !bad {
			return err
		}
	}
}

// Bytes returns the total size of the splits in bytes, for progress, or 0 if
// the size of any is not known.
func Bytes(splits []data.Split) (n int64) {
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

// Rows returns the number of rows in splits of fingerprint files, or 0 if any
// is not Parquet, so that only reading it tells.
func Rows(splits []data.Split) (n int64, err error) {
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
