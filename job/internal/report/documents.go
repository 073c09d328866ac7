package report

import (
	"bytes"
	"cmp"
	"context"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
)

// document is a document as the page shows it.
type document struct {
	ID, Title string
	URL       string // of its page, where the id is one that a reader can see in full
	Night     string // an earlier one that it is of
	Date      string
	Length    int32  // characters of its own; of an earlier night's, not known
	Beginning string // of its text, for one without a title
	Gone      error  // why it has no text
	text      []byte
}

// Name is the title, without one the beginning of the text, without both the id.
func (d *document) Name() string {
	switch {
	case d.Title != "":
		return d.Title
	case d.Beginning != "":
		return "“" + d.Beginning + "”"
	}
	return d.ID
}

// Named reports whether it has a name that is not its id.
func (d *document) Named() bool { return d.Name() != d.ID }

// documents are those that a page shows.
type documents map[ref]*document

// of is a document that is wanted.
func (d documents) of(r *ref) *document {
	if r == nil {
		return nil
	}
	return d[r.key()]
}

// key tells documents apart: those of the run by their row.
func (r ref) key() ref {
	if r.row != data.NoRow {
		r.id = ""
	}
	return r
}

func (d documents) want(refs ...ref) {
	for _, r := range refs {
		if r.id != "" && d[r.key()] == nil {
			d[r.key()] = &document{ID: show.Excerpt([]byte(r.id), mostID), URL: urlOf(r.id), Night: r.night}
		}
	}
}

// urlOf is an id that is the URL of a page, if nothing in it can deceive.
func urlOf(id string) string {
	plain := func(c rune) bool { return c > ' ' && c < 0x7f && !strings.ContainsRune("\"<>\\^`{|}", c) }
	if len(id) > mostID || !strings.HasPrefix(id, "http://") && !strings.HasPrefix(id, "https://") || strings.ContainsFunc(id, func(c rune) bool { return !plain(c) }) {
		return ""
	}
	return id
}

// documents reads the documents that the samples name, and those of pairs.
func (s *scan) documents(ctx context.Context, refused []pairRefs, advance func(int64)) (documents, error) {
	d := documents{}
	for _, c := range s.clusters.have {
		for _, r := range []*ref{c.representative, c.history} {
			if r != nil {
				d.want(*r)
			}
		}
		d.want(c.members...)
	}
	for _, p := range slices.Concat(s.near.have, s.within.have, s.left.have, refused) {
		d.want(p.a, p.b)
	}
	for id, e := range s.examples {
		if e.row != data.NoRow {
			d.want(ref{e.row, "", id})
		}
	}
	rows := map[int64]*document{}
	var history []runs.Document
	for r, doc := range d {
		if r.row != data.NoRow {
			rows[r.row] = doc
		} else {
			history = append(history, runs.Document{Night: r.night, ID: r.id})
		}
	}
	all := slices.Sorted(maps.Keys(rows))
	for task := range s.manifest.Splits {
		n := 0
		for n < len(all) && all[n] < data.RowNumber(task+1, 0) {
			n++
		}
		if err := s.read(ctx, task, all[:n], rows); err != nil {
			return d, err
		}
		all = all[n:]
		advance(1)
	}
	if len(history) == 0 {
		return d, nil
	}
	beside, err := runs.History(s.path)
	if err != nil {
		return d, err
	}
	return d, runs.ReadHistory(ctx, beside, history, func(of runs.Document, doc *data.Document, err error) {
		to := d[ref{data.NoRow, of.Night, of.ID}]
		if err != nil {
			to.Gone = err
			return
		}
		to.fill(doc.Title, doc.Date, doc.Text)
	})
}

// read reads the documents at those rows, as the tables have them, of a split: of
// a text that cannot be read it notes why.
func (s *scan) read(ctx context.Context, task int, at []int64, rows map[int64]*document) error {
	if len(at) == 0 {
		return ctx.Err()
	}
	columns := parquet.ReadOptions{Columns: []string{"doc_id", "title", "date", "length", "row"}}
	ids := map[int64]string{}
	err := parquet.ReadFingerprints(ctx, s.table(rundir.Fingerprints, task), columns, func(r *data.FingerprintRow) error {
		if doc := rows[r.Row]; doc != nil {
			doc.fill(r.Title, r.Date, nil)
			doc.Length, ids[r.Row] = r.Length, string(r.DocID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	within := make([]int64, len(at))
	for i, row := range at {
		within[i] = row - data.RowNumber(task, 0)
	}
	read := 0
	err = input.EachRow(ctx, s.path, s.manifest, task, s.config.ReaderOptions(), within, func(i int, doc *data.Document) error {
		if string(doc.ID) != ids[at[i]] {
			return input.ErrChanged(s.manifest.Split(task))
		}
		to := rows[at[i]]
		to.fill([]byte(to.Title), doc.Date, doc.Text)
		read++
		return nil
	})
	if err != nil && ctx.Err() == nil {
		for _, row := range at[read:] {
			rows[row].Gone = err
		}
	}
	return ctx.Err()
}

// fill takes what is shown of a document. It keeps nothing of what it is given.
func (d *document) fill(title []byte, date int64, text []byte) {
	d.Title = show.Excerpt(title, mostTitle)
	if date != data.NoDate {
		d.Date = time.UnixMilli(date).UTC().Format(time.DateOnly)
	}
	d.Beginning = show.Excerpt(bytes.Join(bytes.Fields(text[:min(len(text), 4*mostTitle)]), []byte(" ")), mostBeginning)
	d.text = []byte(show.Excerpt(text, mostText))
}

// layOut fills in the clusters and the samples, as far as there is room for
// their texts.
func (r *Report) layOut(s *scan, d documents, refused []pairRefs) {
	room := mostLaidOut
	lay := func(p pairRefs) pair {
		out := pair{A: d.of(&p.a), B: d.of(&p.b), evidence: p.evidence}
		if out.A == nil || out.B == nil {
			return out
		}
		out.Gone = cmp.Or(out.A.Gone, out.B.Gone)
		if len(out.A.text) > 0 && len(out.B.text) > 0 && room > 0 {
			out.Rows = show.SideBySide(show.Diff(out.A.text, out.B.text), mostRows)
			if len(out.Rows) == 1 && out.Rows[0].Alike > 0 || len(out.Rows) == 0 {
				out.Rows, out.Equal = nil, true
			}
			room -= sizeOf(out.Rows)
		}
		return out
	}
	for _, list := range []struct {
		to   *[]pair
		from []pairRefs
	}{{&r.Near, s.near.have}, {&r.Refused, refused}, {&r.Within, s.within.have}} {
		seen := map[ref]bool{}
		for _, p := range list.from {
			if len(*list.to) < mostPairs && !seen[p.a.key()] && !seen[p.b.key()] {
				seen[p.a.key()], seen[p.b.key()] = true, true
				*list.to = append(*list.to, lay(p))
			}
		}
	}
	for _, p := range s.left.have {
		r.Left = append(r.Left, lay(p))
	}
	for _, c := range s.clusters.have {
		shown, others := cluster{ID: c.id, Size: c.size, Representative: d.of(c.representative)}, c.members
		beside := c.representative
		if of := d.of(c.history); beside == nil && of != nil {
			if shown.History = of; of.Gone == nil {
				beside = c.history
			}
		}
		if beside == nil && len(others) > 0 {
			beside, others = &others[0], others[1:]
			shown.First = d.of(beside)
		}
		for _, m := range others {
			shown.Members = append(shown.Members, lay(pairRefs{*beside, m, unknown}))
		}
		r.Largest = append(r.Largest, shown)
	}
	if l := r.Summary.Library; l != nil {
		for _, g := range l.Growing {
			shown := growing{Cluster: g.Example, Documents: g.Documents, Before: g.Before, History: g.History, Example: &document{ID: show.Excerpt([]byte(g.Example), mostID)}}
			if e := s.examples[g.Example]; e != nil && e.row != data.NoRow {
				shown.Example, shown.Cluster = d.of(&ref{row: e.row}), cmp.Or(e.cluster, g.Example)
			}
			r.Growing = append(r.Growing, shown)
		}
	}
	r.NoRoom = room <= 0
}

// sizeOf is about how many bytes rows take on a page.
func sizeOf(rows []show.Row) (n int) {
	const around = 20 // a piece's marks
	for _, row := range rows {
		for _, p := range slices.Concat(row.First, row.Second) {
			n += len(template.HTMLEscapeString(show.Visible(p.Text))) + around
		}
	}
	return n
}
