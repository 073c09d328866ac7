package report

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// document is a document as the page shows it.
type document struct {
	ID, Title string
	Date      string
	Length    int32  // characters of its own
	Found     bool   // it is of this run
	Beginning string // of its text, for one without a title
	text      []byte
}

// documents are those that a page shows, by id.
type documents struct {
	by      map[string]*document
	noTexts error // why some have none
}

// documents reads the documents that the samples name.
func (s *scan) documents(ctx context.Context, advance func(int64)) (documents, error) {
	d := documents{by: map[string]*document{}}
	for _, c := range s.clusters.have {
		d.want(c.representative)
		for _, m := range c.members {
			d.want(m)
		}
	}
	for _, p := range slices.Concat(s.near.have, s.within.have) {
		d.want(p.a, p.b)
	}
	for _, p := range s.left.have {
		d.want(p.a, p.b)
	}
	for task := range s.manifest.Splits {
		if err := d.read(ctx, s, task); err != nil {
			return d, err
		}
		advance(1)
	}
	return d, nil
}

func (d *documents) want(ids ...string) {
	for _, id := range ids {
		if id != "" && d.by[id] == nil {
			d.by[id] = &document{ID: show.Excerpt([]byte(id), mostID)}
		}
	}
}

// read reads the documents of a split: of a text that cannot be read it notes
// why.
func (d *documents) read(ctx context.Context, s *scan, task int) error {
	var rows []int64
	var found []*document
	var ids []string
	row := int64(-1)
	columns := parquet.ReadOptions{Columns: []string{"doc_id", "title", "date", "length"}}
	err := parquet.ReadFingerprints(ctx, s.table(rundir.Fingerprints, task), columns, func(r *data.FingerprintRow) error {
		row++
		doc := d.by[string(r.DocID)]
		if doc == nil || doc.Found {
			return nil
		}
		doc.Found, doc.Title, doc.Length = true, show.Excerpt(r.Title, mostTitle), r.Length
		if r.Date != data.NoDate {
			doc.Date = time.UnixMilli(r.Date).UTC().Format(time.DateOnly)
		}
		rows, found, ids = append(rows, row), append(found, doc), append(ids, string(r.DocID))
		return nil
	})
	if err != nil {
		return err
	}
	err = engine.EachRow(ctx, s.path, s.manifest, task, s.config.ReaderOptions(), rows, func(i int, doc *data.Document) error {
		if string(doc.ID) != ids[i] {
			return engine.ErrChanged(s.manifest.Splits[task])
		}
		found[i].Beginning = show.Excerpt(bytes.Join(bytes.Fields(doc.Text[:min(len(doc.Text), 4*mostTitle)]), []byte(" ")), mostBeginning)
		found[i].text = append([]byte(nil), show.Excerpt(doc.Text, mostText)...)
		return nil
	})
	if err != nil && ctx.Err() == nil && d.noTexts == nil {
		d.noTexts = err
	}
	return ctx.Err()
}

// layOut fills in the clusters and the samples, as far as there is room for
// their texts.
func (r *Report) layOut(s *scan, d documents) {
	room := mostLaidOut
	lay := func(a, b, note string) pair {
		p := pair{A: d.by[a], B: d.by[b], Note: note}
		if p.A != nil && p.B != nil && len(p.A.text) > 0 && len(p.B.text) > 0 && room > 0 {
			p.Rows = show.SideBySide(show.Diff(p.A.text, p.B.text), mostRows)
			if len(p.Rows) == 1 && p.Rows[0].Alike > 0 || len(p.Rows) == 0 {
				p.Rows, p.Equal = nil, true
			}
			room -= sizeOf(p.Rows)
		}
		return p
	}
	for _, c := range s.clusters.have {
		shown, beside, others := cluster{Size: c.size, Representative: d.by[c.representative]}, c.representative, c.members
		if shown.Representative == nil && len(others) > 0 {
			beside, others = others[0], others[1:]
			shown.First = d.by[beside]
		}
		for _, m := range others {
			shown.Members = append(shown.Members, lay(beside, m, ""))
		}
		r.Largest = append(r.Largest, shown)
	}
	for _, list := range []struct {
		to   *[]pair
		from []pairIDs
	}{{&r.Near, s.near.have}, {&r.Within, s.within.have}} {
		seen := map[string]bool{}
		for _, p := range list.from {
			if len(*list.to) < mostPairs && !seen[p.a] && !seen[p.b] {
				seen[p.a], seen[p.b] = true, true
				*list.to = append(*list.to, lay(p.a, p.b, p.note))
			}
		}
	}
	for _, p := range s.left.have {
		r.Left = append(r.Left, lay(p.a, p.b, p.note))
	}
	if d.noTexts != nil {
		r.NoTexts = fmt.Sprintf("Some texts could not be read again: %v.", d.noTexts)
	} else if room <= 0 {
		r.NoTexts = "Some texts are left out, to keep the page small: neardup explain shows two documents."
	}
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
