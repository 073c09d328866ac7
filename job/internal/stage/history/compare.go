package history

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
)

// night is the documents of this run, in memory.
type night struct {
	*corpus.Night
	docs  []uint64   // by row: the document's number
	kinds []driftKey // by row
}

// readNight reads the night's documents.
func readNight(ctx context.Context, r *stage.Run) (_ *night, err error) {
	n := &night{}
	sites := map[driftKey]driftKey{}
	n.Night, err = corpus.ReadNight(ctx, r.Config, r.Dir, len(r.Job.Splits), r.Workers, func(doc uint64, row *data.LibraryRow) {
		n.docs = append(n.docs, doc)
		kind := driftKey{string(row.Site), row.Language}
		if known, ok := sites[kind]; ok { // one copy of each site's name
			kind = known
		} else {
			sites[kind] = kind
		}
		n.kinds = append(n.kinds, kind)
	})
	return n, err
}

// splitRows is about how many documents of the library one task streams.
const splitRows = 1 << 20

// Compare is the task of the stage history. The engine joins the library's documents
// with this run's. Compare writes what the library knows of each of these, and the
// tables drift and growth.
func Compare(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	night, m := r.Config.Library.Night, r.Library.Manifest()
	n, err := readNight(ctx, r)
	if err != nil {
		return err
	}
	rec.RowsIn, rec.RowsOut = int64(n.IDs.Len()), int64(n.IDs.Len())
	documents := int64(0)
	for _, have := range m.Nights {
		if have.Name < night {
			rec.Counts["nights"]++
			documents += have.Live()
		}
	}
	splits, err := r.Library.Splits(n.Before(), splitRows)
	if err != nil {
		return fmt.Errorf("%s: %w", stage.History, err)
	}
	earliest := n.NewMatches(m)
	r.Job.Advance = r.Job.Pass.Begin(documents, "documents")
	if err := r.Engine.History(ctx, r.Job, n.Night, r.Library, splits, earliest); err != nil {
		return err
	}
	if came := earliest.Documents(); came != documents {
		return fmt.Errorf("%s: %w: the library has %d documents of earlier nights, %d came in", stage.History, rundir.ErrNotConserved, documents, came)
	}
	rec.Counts["documents"] = documents

	today, err := currentClusters(ctx, r, earliest)
	if err != nil {
		return err
	}
	drift, err := writeHistory(r, n, earliest, today, rec)
	if err != nil {
		return err
	}
	for _, d := range drift {
		rec.Counts["new"] += d.New
		rec.Counts["repeated"] += d.Repeated
		rec.Counts["returned"] += d.Returned
	}
	if err := errors.Join(writeDrift(r, drift), writeGrowth(ctx, r, n, earliest)); err != nil {
		return err
	}
	rec.Outputs = append(rec.Outputs,
		filepath.Join(rundir.Drift, rundir.PartName(0, ".parquet")), filepath.Join(rundir.Growth, rundir.PartName(0, ".parquet")))
	return nil
}

// currentClusters maps the clusters of all matches to the clusters that they have
// become by today.
func currentClusters(ctx context.Context, r *stage.Run, earliest *history.Matches) (map[string]string, error) {
	var ids []string
	seen := map[string]bool{}
	for u := range uint32(earliest.Units()) {
		for _, c := range earliest.Clusters(u) {
			if !seen[c] {
				seen[c] = true
				ids = append(ids, c)
			}
		}
	}
	return r.Library.Current(ctx, r.Config.Library.Night, ids)
}

// writeHistory writes what the library says of this run's documents, and counts
// them by site and language.
func writeHistory(r *stage.Run, n *night, earliest *history.Matches, today map[string]string, rec *rundir.TaskRecord) (map[driftKey]*data.DriftRow, error) {
	documents, err := r.Documents()
	if err != nil {
		return nil, err
	}
	drift := map[driftKey]*data.DriftRow{}
	current := make([][]string, earliest.Units())
	row := 0
	for task := range documents.Parts() {
		var known []history.Document
		for end := documents.First(task + 1); row < len(n.docs) && n.docs[row] < end; row++ {
			d := n.known(row, earliest, today, current)
			n.count(drift, row, &d, r.Config.Library.Night)
			if d.FirstSeen != "" || d.Match != nil || len(d.Clusters) > 0 {
				known = append(known, d)
			}
		}
		name := rundir.StatePart(history.Folder, task)
		err := history.WriteDocuments(r.Dir.Path(name), known)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stage.History, err)
		}
		rec.Outputs = append(rec.Outputs, name)
	}
	return drift, nil
}

// known is what the library says of a row's document; current holds, by unit,
// what its clusters are today, once that was asked for.
func (n *night) known(row int, earliest *history.Matches, today map[string]string, current [][]string) history.Document {
	d := history.Document{Doc: n.docs[row], FirstSeen: earliest.FirstSeen(row)}
	u := n.Units[row]
	if u == corpus.NoUnit {
		if night := earliest.Unchanged(row); night != "" {
			d.Kept = &history.Match{Night: night, ID: string(n.IDs.At(row)), FirstSeen: d.FirstSeen, Reason: history.Unchanged}
		}
		d.First, d.Last, d.Nights = earliest.Span(earliest.Plain(row))
		return d
	}
	d.First, d.Last, d.Nights = earliest.Span(earliest.Nights(u))
	if m, ok := earliest.Kept(u); ok {
		d.Kept = &m
	}
	if m, ok := earliest.Match(u, n.IDs.At(row)); ok {
		d.Match = &m
	}
	if clusters := earliest.Clusters(u); current[u] == nil && len(clusters) > 0 {
		for _, c := range clusters {
			if now, ok := today[c]; ok {
				c = now
			}
			current[u] = append(current[u], c)
		}
		slices.Sort(current[u])
		current[u] = slices.Compact(current[u])
	}
	d.Clusters = current[u]
	return d
}

// count counts a row's document by site and language.
func (n *night) count(drift map[driftKey]*data.DriftRow, row int, d *history.Document, night string) {
	known := drift[n.kinds[row]]
	if known == nil {
		known = &data.DriftRow{Night: night, Site: []byte(n.kinds[row].site), Language: n.kinds[row].language}
		drift[n.kinds[row]] = known
	}
	known.Documents++
	switch {
	case d.FirstSeen != "":
		known.Returned++
	case len(d.Clusters) > 0:
		known.Repeated++
	default:
		known.New++
	}
}

// driftKey is what documents are counted by.
type driftKey struct{ site, language string }

func writeDrift(r *stage.Run, drift map[driftKey]*data.DriftRow) error {
	rows := slices.SortedFunc(maps.Values(drift), func(a, b *data.DriftRow) int {
		return cmp.Or(bytes.Compare(a.Site, b.Site), strings.Compare(a.Language, b.Language))
	})
	return writeTable(r, rundir.Drift, &data.Drift, rows)
}

// writeTable writes a table of one part.
func writeTable[R any](r *stage.Run, folder string, table *data.Table[R], rows []*R) error {
	path, err := r.Dir.Part(folder, 0, ".parquet")
	if err != nil {
		return err
	}
	return parquet.WriteTable(path, table, r.Job.TableOptions(), rows)
}

// growing is the number of rows of the table growth: the fingerprints whose number of
// documents grew most since the night before.
const growing = 100

func writeGrowth(ctx context.Context, r *stage.Run, n *night, earliest *history.Matches) error {
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	var hot []*data.GrowthRow
	members, first := make([]int64, earliest.Units()), make([]int, earliest.Units())
	for row, u := range slices.Backward(n.Units) {
		if u != corpus.NoUnit {
			members[u]++
			first[u] = row
		}
	}
	var v data.View
	for u, now := range members {
		exact, last := earliest.Exact(uint32(u))
		if now < 2 || now <= last {
			continue
		}
		n.Views.View(uint32(u), &v)
		doc := n.docs[first[u]]
		part := documents.Part(doc)
		hot = append(hot, &data.GrowthRow{
			Night: r.Config.Library.Night, Hi: v.Hi, Lo: v.Lo,
			Documents: now, Before: last, History: exact, Example: bytes.Clone(n.IDs.At(first[u])), Row: data.RowNumber(part, doc-documents.First(part)),
		})
	}
	slices.SortFunc(hot, func(a, b *data.GrowthRow) int {
		return cmp.Or(cmp.Compare(b.Documents-b.Before, a.Documents-a.Before), bytes.Compare(a.Example, b.Example))
	})
	hot = hot[:min(len(hot), growing)]
	if err := readTitles(ctx, r, documents.Parts(), hot); err != nil {
		return err
	}
	return writeTable(r, rundir.Growth, &data.Growth, hot)
}

// readTitles fills in the titles of the rows' documents.
func readTitles(ctx context.Context, r *stage.Run, parts int, rows []*data.GrowthRow) error {
	byRow := slices.SortedFunc(slices.Values(rows), func(a, b *data.GrowthRow) int { return cmp.Compare(a.Row, b.Row) })
	for part := 0; part < parts && len(byRow) > 0; part++ {
		from := len(byRow)
		for i, row := range byRow {
			if row.Row >= data.RowNumber(part+1, 0) {
				from = i
				break
			}
		}
		if err := titlesOf(ctx, r, part, byRow[:from]); err != nil {
			return err
		}
		byRow = byRow[from:]
	}
	return nil
}

// titlesOf fills in the titles of the documents of one part, in its order.
func titlesOf(ctx context.Context, r *stage.Run, part int, rows []*data.GrowthRow) (err error) {
	if len(rows) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	in, err := parquet.OpenFingerprints(r.Dir.Path(rundir.Fingerprints, rundir.PartName(part, ".parquet")), parquet.ReadOptions{Columns: []string{"title"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	fingerprint := data.EmptyFingerprintRow()
	for _, row := range rows {
		if err := in.SeekRow(row.Row - data.RowNumber(part, 0)); err != nil {
			return err
		}
		if err := in.Read(&fingerprint); err != nil {
			return err
		}
		row.Title = bytes.Clone(fingerprint.Title)
	}
	return nil
}
