package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/summary"
)

// Document names a document of an earlier night.
type Document struct{ Night, ID string }

// errGone is returned for a document of a night whose run directory is not there.
var errGone = errors.New("its run directory is gone")

// History returns the run directories of earlier nights that stand beside
// that of the run in directory path and brought them to the same library, by
// night. A run without a library has none.
func History(path string) (map[string]string, error) {
	var s summary.Summary
	if err := rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), &s); err != nil {
		return nil, err
	}
	if s.Library == nil {
		return nil, nil
	}
	runs, err := Nights(filepath.Dir(filepath.Clean(path)), s.Library.Path)
	maps.DeleteFunc(runs, func(night, _ string) bool { return night >= s.Library.Night })
	return runs, err
}

// Nights returns the run directories in a folder that brought nights to the
// library, by night. Of several runs of a night it is the latest.
func Nights(folder, library string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	runs, began := map[string]string{}, map[string]time.Time{}
	for _, entry := range entries {
		dir := filepath.Join(folder, entry.Name())
		var s summary.Summary
		if !entry.IsDir() || rundir.ReadJSON(filepath.Join(dir, rundir.SummaryFile), &s) != nil {
			continue
		}
		if l := s.Library; l != nil && sameLibrary(l.Path, library) && !s.Began.Before(began[l.Night]) {
			runs[l.Night], began[l.Night] = dir, s.Began
		}
	}
	return runs, nil
}

// sameLibrary reports whether two runs were given the same library, as far as
// paths can tell: of one that was given relative to another folder the end counts.
func sameLibrary(a, b string) bool {
	a, b = filepath.Clean(a), filepath.Clean(b)
	if filepath.IsAbs(a) == filepath.IsAbs(b) {
		return a == b
	}
	if filepath.IsAbs(a) {
		a, b = b, a
	}
	up, separator := "..", string(filepath.Separator)
	for strings.HasPrefix(a, up+separator) {
		a = a[len(up+separator):]
	}
	return strings.HasSuffix(b, separator+a)
}

// ReadHistory reads documents of earlier nights from runs, their run
// directories by night. It tells yield of each: the document, or an error that
// names the night and says why it cannot be read. It fails only when ctx ends.
func ReadHistory(ctx context.Context, runs map[string]string, wanted []Document, yield func(of Document, doc *data.Document, err error)) error {
	nights := map[string][]string{}
	for _, w := range wanted {
		nights[w.Night] = append(nights[w.Night], w.ID)
	}
	for _, night := range slices.Sorted(maps.Keys(nights)) {
		ids := nights[night]
		slices.Sort(ids)
		ids = slices.Compact(ids)
		run, err := runs[night], error(nil)
		var found map[string]data.Document
		var failed map[string]error
		if run == "" {
			err = errGone
		} else {
			found, failed, err = readDocuments(ctx, run, ids)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, id := range ids {
			doc, ok := found[id]
			why := err
			switch {
			case ok:
				yield(Document{night, id}, &doc, nil)
				continue
			case failed[id] != nil:
				why = failed[id]
			case why == nil:
				why = fmt.Errorf("%w in %s", errUnknownID, run)
			}
			yield(Document{night, id}, nil, fmt.Errorf("night %s: %w", night, why))
		}
	}
	return nil
}

// Found is a document of a run or of an earlier night.
type Found struct {
	data.Document
	Night string // an earlier one; "": the run's own
}

// FindDocuments is ReadDocuments, which finds documents of earlier nights too: as
// NIGHT/ID, or by an id that the run does not have. That is the document of the
// night that the run's tables name for a match or a removal, else the latest. Run
// directories of earlier nights stand beside the run's (History).
func FindDocuments(ctx context.Context, path string, ids []string) ([]Found, error) {
	found, failed, err := readDocuments(ctx, path, ids)
	if err != nil {
		return nil, err
	}
	docs := make([]Found, len(ids))
	var runs, named map[string]string
	for i, id := range ids {
		if doc, ok := found[id]; ok {
			docs[i].Document = doc
			continue
		}
		if err := failed[id]; err != nil {
			return nil, err
		}
		if named == nil { // the first that the run does not have
			if runs, err = History(path); err != nil {
				return nil, err
			}
			if named, err = nightsNamed(ctx, path, ids); err != nil {
				return nil, err
			}
		}
		if docs[i], err = findInHistory(ctx, path, runs, named, id); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// findInHistory finds a document of an earlier night. named are the nights of ids
// that the run's tables have.
func findInHistory(ctx context.Context, path string, runs, named map[string]string, id string) (doc Found, err error) {
	nights := slices.Sorted(maps.Keys(runs))
	slices.Reverse(nights) // the latest first
	if night, ok := named[id]; ok {
		nights = []string{night}
	}
	for _, night := range slices.Sorted(maps.Keys(runs)) {
		if rest, ok := strings.CutPrefix(id, night+"/"); ok {
			id, nights = rest, []string{night}
		}
	}
	for _, night := range nights {
		var why error
		err := ReadHistory(ctx, runs, []Document{{night, id}}, func(_ Document, d *data.Document, err error) {
			if why = err; err == nil {
				doc = Found{*d, night}
			}
		})
		switch {
		case err != nil:
			return doc, err
		case why == nil:
			return doc, nil
		case errors.Is(why, errGone):
			return doc, fmt.Errorf("%q is a document of %w: put it back beside %s", id, why, path)
		case !errors.Is(why, errUnknownID):
			return doc, fmt.Errorf("%q: %w", id, why)
		}
	}
	where := path
	if len(runs) > 0 {
		where += " and in the runs of earlier nights beside it"
	}
	return doc, fmt.Errorf("%w: %q in %s: name one as doc_id of its fingerprints has it", errUnknownID, id, where)
}

// nightsNamed returns the earlier nights of ids, as far as a run's matches and
// removals name them.
func nightsNamed(ctx context.Context, path string, ids []string) (map[string]string, error) {
	nights := map[string]string{}
	take := func(night string, row int64, id []byte) {
		if row == data.NoRow && night != "" && slices.Contains(ids, string(id)) {
			nights[string(id)] = night
		}
	}
	return nights, errors.Join(
		eachPart(ctx, path, rundir.Matches, &data.Matches, func(m *data.MatchRow) error { take(m.MatchFrom, m.MatchRow, m.MatchID); return nil }),
		eachPart(ctx, path, rundir.Removed, &data.Removed, func(r *data.RemovedRow) error { take(r.KeptFrom, r.KeptRow, r.KeptID); return nil }))
}

// eachPart calls yield with the rows of a table of a run, of all its parts.
func eachPart[R any](ctx context.Context, path, name string, table *data.Table[R], yield func(*R) error) error {
	parts, err := rundir.Parts(path, name)
	for _, part := range parts {
		if err == nil {
			err = parquet.ReadTable(ctx, part, table, yield)
		}
	}
	return err
}
