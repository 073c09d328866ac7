// Package runs looks into run directories that exist: their settings, the texts of
// single documents, the runs of earlier nights beside them. It changes nothing in
// them; Publish uploads one.
package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/summary"
)

// errUnknownID is returned for an id that no document of a run has.
var errUnknownID = errors.New("no document of this id")

// Settings returns the manifest and the settings of the run in directory
// path, which has read documents.
func Settings(path string) (m rundir.Manifest, cfg config.Config, err error) {
	if m, err = rundir.ReadManifest(path); err != nil {
		return m, cfg, err
	}
	if m.Command != engine.CommandRun {
		return m, cfg, fmt.Errorf("%s was made by `neardup %s` and has no texts: name the run that fingerprinted them", path, m.Command)
	}
	if cfg, err = config.Recorded(m.Config); err != nil {
		return m, cfg, fmt.Errorf("%s: %w", filepath.Join(path, rundir.ManifestFile), err)
	}
	return m, cfg, nil
}

// ReadDocuments returns the documents of those ids, in their order, of the run
// in directory path: the fingerprints table says where each stands. Documents
// whose text was extracted come from the run, the others from its input. It
// changes nothing in the run directory.
func ReadDocuments(ctx context.Context, path string, ids []string) ([]data.Document, error) {
	m, cfg, err := Settings(path)
	if err != nil {
		return nil, err
	}
	found := make(map[string]data.Document)
	for task, split := range m.Splits {
		rows, err := rowsOfPart(ctx, filepath.Join(path, rundir.Fingerprints, rundir.PartName(task, ".parquet")), ids, found)
		if err != nil {
			return nil, err
		}
		err = engine.EachRow(ctx, path, m, task, cfg.ReaderOptions(), rows, func(_ int, doc *data.Document) error {
			if !slices.Contains(ids, string(doc.ID)) {
				return engine.ErrChanged(split)
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
			return nil, fmt.Errorf("%w: %q in %s: name one as doc_id of its fingerprints has it", errUnknownID, id, path)
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

// EarlierRuns returns the run directories of earlier nights that stand beside
// that of the run in directory path and brought them to the same library, by
// night. Of several runs of a night it is the latest. A run without a library
// has none.
func EarlierRuns(path string) (map[string]string, error) {
	var s summary.Summary
	if err := rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), &s); err != nil {
		return nil, err
	}
	if s.Library == nil {
		return nil, nil
	}
	beside, err := os.ReadDir(filepath.Dir(filepath.Clean(path)))
	if err != nil {
		return nil, err
	}
	runs, began := map[string]string{}, map[string]time.Time{}
	for _, entry := range beside {
		dir := filepath.Join(filepath.Dir(filepath.Clean(path)), entry.Name())
		var other summary.Summary
		if !entry.IsDir() || rundir.ReadJSON(filepath.Join(dir, rundir.SummaryFile), &other) != nil {
			continue
		}
		if l := other.Library; l != nil && l.Path == s.Library.Path && l.Night < s.Library.Night && !other.Began.Before(began[l.Night]) {
			runs[l.Night], began[l.Night] = dir, other.Began
		}
	}
	return runs, nil
}

// TemplatesOf names the file of the templates that the texts of the run in
// directory path are judged without; empty if it takes texts whole.
func TemplatesOf(path string, c config.Config) string {
	if engine.LearnsTemplates(engine.CommandRun, &c) {
		return engine.TemplatesPath(path)
	}
	return c.Features.Templates
}
