// Package runs looks into run directories that exist: their settings, the texts of
// single documents, the runs of earlier nights beside them. It changes nothing in
// them; Publish uploads one.
package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
)

// errUnknownID is returned for an id that no document of a run has.
var errUnknownID = errors.New("no document of this id")

// Settings returns the manifest and the settings of the run in directory
// path, which has read documents and matched them.
func Settings(path string) (m rundir.Manifest, cfg config.Config, err error) {
	if m, cfg, err = OfDocuments(path); err == nil && cfg.Against.On() {
		err = fmt.Errorf("%s is a run against a reference and has no matches: `neardup report` shows what was found, its table %s has it; for matches run the documents without --against", path, rundir.Against)
	}
	return m, cfg, err
}

// OfDocuments returns the manifest and the settings of the run in directory path, which
// has read documents, be it to match them or to search them for a reference.
func OfDocuments(path string) (m rundir.Manifest, cfg config.Config, err error) {
	if m, err = rundir.ReadManifest(path); err != nil {
		return m, cfg, err
	}
	if m.Command != rundir.CommandRun {
		return m, cfg, fmt.Errorf("%s was made by `neardup %s` and has no texts: name the run that fingerprinted them", path, m.Command)
	}
	if cfg, err = config.Recorded(m.Config); err != nil {
		return m, cfg, fmt.Errorf("%s: %w", filepath.Join(path, rundir.ManifestFile), err)
	}
	return m, cfg, nil
}

// ReadDocuments returns the documents of those ids, in their order, of the run
// in directory path: the fingerprints table says where each stands. Documents
// whose text was extracted come from the run, the others from its input, or where
// that is gone from the clean dump. It changes nothing in the run directory.
func ReadDocuments(ctx context.Context, path string, ids []string) ([]data.Document, error) {
	found, failed, err := readDocuments(ctx, path, ids)
	if err != nil {
		return nil, err
	}
	docs := make([]data.Document, len(ids))
	for i, id := range ids {
		doc, ok := found[id]
		if !ok {
			return nil, cmp.Or(failed[id], fmt.Errorf("%w: %q in %s: name one as doc_id of its fingerprints has it", errUnknownID, id, path))
		}
		docs[i] = doc
	}
	return docs, nil
}

// readDocuments returns the first document of each id that the run has, and why
// those that it has cannot be read.
func readDocuments(ctx context.Context, path string, ids []string) (found map[string]data.Document, failed map[string]error, err error) {
	m, cfg, err := Settings(path)
	if err != nil {
		return nil, nil, err
	}
	found, failed = map[string]data.Document{}, map[string]error{}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	for task, split := range m.Splits {
		rows, names, err := rowsOfPart(ctx, filepath.Join(path, rundir.Fingerprints, rundir.PartName(task, ".parquet")), wanted)
		if err != nil {
			return nil, nil, err
		}
		err = input.EachRow(ctx, path, m, task, cfg.ReaderOptions(), rows, func(i int, doc *data.Document) error {
			if string(doc.ID) != names[i] {
				return input.ErrChanged(split)
			}
			found[names[i]] = *doc
			*doc = data.Document{} // its bytes are found's now
			return nil
		})
		if err != nil && ctx.Err() == nil && cfg.Output.Clean && !input.KeepsTexts(m, split) {
			err = errors.Join(err, readKept(ctx, path, split, task, cfg.ReaderOptions(), names, found))
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		for _, name := range names {
			if _, ok := found[name]; !ok {
				failed[name] = err
			}
		}
	}
	return found, failed, nil
}

// readKept reads documents whose input is gone from the clean dump, by id: it has
// those that stayed. What it does not find is not an error.
func readKept(ctx context.Context, path string, split data.Split, task int, o data.ReaderOptions, ids []string, found map[string]data.Document) error {
	file := filepath.Join(path, rundir.Clean, rundir.PartName(task, clean.Extension(split)))
	info, err := os.Stat(file)
	if err != nil {
		return nil // the input's error says enough
	}
	kept := data.Split{Path: file, Format: split.Format, Size: info.Size(), End: -1}
	if split.Format == source.FormatWET {
		kept.Format = source.FormatJSONL
	}
	left := len(ids)
	err = input.EachDocument(ctx, kept, o, func(int64) {}, func(*data.BadRecord) {}, func(doc *data.Document) error {
		id := string(doc.ID)
		if _, had := found[id]; had || !slices.Contains(ids, id) {
			return nil
		}
		found[id] = *doc
		*doc = data.Document{}
		if left--; left == 0 {
			return errAllFound
		}
		return nil
	})
	if errors.Is(err, errAllFound) {
		return nil
	}
	return err
}

var errAllFound = errors.New("all are found")

// rowsOfPart returns the rows of a part of the fingerprints table that are the
// first of a wanted id, with their ids, which are wanted no more.
func rowsOfPart(ctx context.Context, path string, wanted map[string]bool) (rows []int64, ids []string, err error) {
	row := int64(0)
	err = parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{Columns: []string{"doc_id"}}, func(r *data.FingerprintRow) error {
		if wanted[string(r.DocID)] {
			rows, ids = append(rows, row), append(ids, string(r.DocID))
			delete(wanted, string(r.DocID))
		}
		row++
		return nil
	})
	return rows, ids, err
}

// TemplatesOf names the file of the templates that the texts of the run in
// directory path are judged without; empty if it takes texts whole.
func TemplatesOf(path string, c config.Config) string {
	if method.LearnsTemplates(rundir.CommandRun, &c) {
		return method.TemplatesPath(path)
	}
	return c.Features.Templates
}
