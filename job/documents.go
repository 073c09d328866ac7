package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
)

// errUnknownID is returned for an id that no document of a run has.
var errUnknownID = errors.New("no document of this id")

// RunSettings returns the manifest and the settings of the run in directory
// path, which has read documents.
func RunSettings(path string) (m rundir.Manifest, cfg config.Config, err error) {
	cfg = config.Default()
	if err := rundir.ReadJSON(filepath.Join(path, rundir.ManifestFile), &m); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return m, cfg, fmt.Errorf("%s is no run directory: %w", path, err)
		}
		return m, cfg, err
	}
	if m.Command != CommandRun {
		return m, cfg, fmt.Errorf("%s was made by `neardup %s` and has no texts: name the run that fingerprinted them", path, m.Command)
	}
	if err := json.Unmarshal(m.Config, &cfg); err != nil {
		return m, cfg, fmt.Errorf("%s: %w", filepath.Join(path, rundir.ManifestFile), err)
	}
	return m, cfg, nil
}

// ReadDocuments returns the documents of those ids, in their order, of the run
// in directory path: the fingerprints table says where each stands. Documents
// whose text was extracted come from the run, the others from its input. It
// changes nothing in the run directory.
func ReadDocuments(ctx context.Context, path string, ids []string) ([]data.Document, error) {
	m, cfg, err := RunSettings(path)
	if err != nil {
		return nil, err
	}
	found := make(map[string]data.Document)
	for task, split := range m.Splits {
		rows, err := rowsOfPart(ctx, filepath.Join(path, rundir.Fingerprints, rundir.PartName(task, ".parquet")), ids, found)
		if err != nil {
			return nil, err
		}
		err = eachRow(ctx, path, m, task, cfg.Input, rows, func(_ int, doc *data.Document) error {
			if !slices.Contains(ids, string(doc.ID)) {
				return errChanged(split)
			}
			found[string(doc.ID)] = *doc
			*doc = data.Document{} // its bytes are found's now
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	docs := make([]data.Document, len(ids))
	for i, id := range ids {
		doc, ok := found[id]
		if !ok {
			return nil, fmt.Errorf("%w: %q in %s", errUnknownID, id, path)
		}
		docs[i] = doc
	}
	return docs, nil
}

// rowsOfPart returns the rows of a part of the fingerprints table that are the
// first of their id, among those ids that are not found so far.
func rowsOfPart(ctx context.Context, path string, ids []string, found map[string]data.Document) (rows []int64, err error) {
	wanted := make(map[string]bool)
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			wanted[id] = true
		}
	}
	row := int64(0)
	err = parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{Columns: []string{"doc_id"}}, func(r *data.FingerprintRow) error {
		if wanted[string(r.DocID)] {
			rows = append(rows, row)
			delete(wanted, string(r.DocID))
		}
		row++
		return nil
	})
	return rows, err
}

func errChanged(split data.Split) error {
	return fmt.Errorf("%s has changed since it was fingerprinted: run again into a new folder", split.Path)
}

// openAgain opens the documents of split task of the run in folder dir once
// more, as many as it was fingerprinted with: from the run's own texts where
// they were extracted, else from the input, read with options o.
func openAgain(dir string, m rundir.Manifest, task int, o data.ReaderOptions) (data.SourceReader, error) {
	split := m.Splits[task]
	if keepsTexts(m, split) {
		return openTexts(dir, task, split)
	}
	in, err := source.Open(split, o)
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(split.Path) {
		err = fmt.Errorf("%w: run this in the folder that the run was started in", err)
	}
	return in, err
}

// keepsTexts reports whether a run has the texts of a split itself.
func keepsTexts(m rundir.Manifest, split data.Split) bool {
	return m.HasTexts() && source.Extracts(split.Format)
}

// eachRow calls yield with the documents of those rows, ascending, of split
// task of the run in folder dir; i counts them. The document is used again for
// the next.
func eachRow(ctx context.Context, dir string, m rundir.Manifest, task int, o config.Input, rows []int64, yield func(i int, doc *data.Document) error) (err error) {
	if len(rows) == 0 {
		return nil
	}
	in, err := openAgain(dir, m, task, o.ReaderOptions())
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
				return errChanged(m.Splits[task])
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

// eachDocument calls yield with the documents of a split, in their order,
// without its bad records, and stops at its first error. The document is used
// again for the next.
func eachDocument(ctx context.Context, split data.Split, o config.Input, yield func(*data.Document) error) (err error) {
	options := o.ReaderOptions()
	options.Workers = runtime.GOMAXPROCS(0)
	in, err := source.Open(split, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var doc data.Document
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := nextDocument(in, &doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = yield(&doc)
		}
		if err != nil {
			return err
		}
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
