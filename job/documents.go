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

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
)

// ErrUnknownID is returned for an id that no document of a run has.
var ErrUnknownID = errors.New("no document of this id")

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

// ReadDocuments returns the documents of those ids, in their order, from the
// input of the run in directory path: the fingerprints table says in which
// split each stands. It changes nothing in the run directory.
func ReadDocuments(ctx context.Context, path string, ids []string) ([]data.Document, error) {
	m, cfg, err := RunSettings(path)
	if err != nil {
		return nil, err
	}
	found := make(map[string]data.Document)
	for i, split := range m.Splits {
		missing, err := idsOfPart(ctx, filepath.Join(path, rundir.Fingerprints, rundir.PartName(i, ".parquet")), ids, found)
		if err != nil {
			return nil, err
		}
		if err := readDocuments(ctx, split, cfg, missing, found); err != nil {
			return nil, err
		}
	}
	docs := make([]data.Document, len(ids))
	for i, id := range ids {
		doc, ok := found[id]
		if !ok {
			return nil, fmt.Errorf("%w: %q in %s", ErrUnknownID, id, path)
		}
		docs[i] = doc
	}
	return docs, nil
}

// idsOfPart returns which of the ids, not found so far, a part of the
// fingerprints table has.
func idsOfPart(ctx context.Context, path string, ids []string, found map[string]data.Document) (map[string]bool, error) {
	wanted, here := make(map[string]bool), make(map[string]bool)
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			wanted[id] = true
		}
	}
	err := parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{Columns: []string{"doc_id"}}, func(row *data.FingerprintRow) error {
		if wanted[string(row.DocID)] {
			here[string(row.DocID)] = true
		}
		return nil
	})
	return here, err
}

// readDocuments adds the split's documents of those ids to found.
func readDocuments(ctx context.Context, split data.Split, cfg config.Config, ids map[string]bool, found map[string]data.Document) (err error) {
	if len(ids) == 0 {
		return nil
	}
	err = eachDocument(ctx, split, cfg.Input, func(doc *data.Document) error {
		if id := string(doc.ID); ids[id] {
			found[id] = *doc
			*doc = data.Document{} // its bytes are found's now
			delete(ids, id)
		}
		if len(ids) == 0 {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(split.Path):
		return fmt.Errorf("%w: run this in the folder that the run was started in", err)
	case err == nil && len(ids) > 0:
		return fmt.Errorf("%s: the input has changed since the run", split.Path)
	}
	return err
}

// errEnough ends eachDocument before the end of the split, without an error.
var errEnough = errors.New("enough")

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
		err := in.Read(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, bad := data.IsBadRecord(err); bad {
			continue // the fingerprint stage counts and keeps it
		}
		if err == nil {
			err = yield(&doc)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
