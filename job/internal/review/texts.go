package review

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
)

// Bounds on what a reader is shown.
const (
	mostText  = 6000 // characters of a text
	mostTitle = 200
	mostID    = 300
)

// Document is a document as a reader sees it.
type Document struct {
	ID    string // as files of verdicts have it
	Night string // of an earlier night; empty: the run's own
	Title string
	Date  string
	Text  string
	Cut   bool  // there is more
	Gone  error // why there is no text
}

// Item is a pair with its texts.
type Item struct {
	*Pair
	First, Second Document
}

// Rows are the two texts side by side, and whether they are the same, as far as
// they are shown.
func (i *Item) Rows() (rows []show.Row, same bool) {
	if i.First.Gone != nil || i.Second.Gone != nil {
		return nil, false
	}
	rows = show.SideBySide(show.Diff([]byte(i.First.Text), []byte(i.Second.Text)), 0)
	return rows, len(rows) == 0 || len(rows) == 1 && rows[0].Alike > 0
}

// Read reads the texts of the pairs: those of the run from it or from its
// input, those of earlier nights from the runs that brought them, which stand
// beside this one. A text that is gone says why, with its night.
func (d *Draw) Read(ctx context.Context, pass parallel.Pass) ([]Item, error) {
	items := make([]Item, len(d.Pairs))
	wanted := map[int64][]*Document{} // of the run, by row
	history := map[runs.Document][]*Document{}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		items[i] = Item{Pair: p, First: Document{ID: p.A}, Second: Document{ID: p.B, Night: p.Night}}
		wanted[p.RowA] = append(wanted[p.RowA], &items[i].First)
		if p.Night == "" {
			wanted[p.RowB] = append(wanted[p.RowB], &items[i].Second)
			continue
		}
		of := runs.Document{Night: p.Night, ID: p.ID}
		history[of] = append(history[of], &items[i].Second)
	}
	if err := d.ofRun(ctx, wanted, pass); err != nil {
		return nil, err
	}
	if len(history) == 0 {
		return items, nil
	}
	beside, err := runs.History(d.Run)
	if err != nil {
		return nil, err
	}
	return items, runs.ReadHistory(ctx, beside, slices.Collect(maps.Keys(history)), func(of runs.Document, doc *data.Document, err error) {
		if err != nil {
			gone(history[of], err)
			return
		}
		fill(history[of], doc)
	})
}

// ofRun reads the documents of the run that stand at these rows.
func (d *Draw) ofRun(ctx context.Context, wanted map[int64][]*Document, pass parallel.Pass) error {
	manifest, cfg, err := runs.Settings(d.Run)
	if err != nil {
		return err
	}
	advance := pass.Begin(int64(len(manifest.Splits)), "splits")
	all := slices.Sorted(maps.Keys(wanted))
	for task := range manifest.Splits {
		var rows []int64
		var to [][]*Document
		for ; len(all) > 0; all = all[1:] {
			part, at := place(all[0])
			if part > task {
				break
			}
			rows, to = append(rows, at), append(to, wanted[all[0]])
		}
		err := input.EachRow(ctx, d.Run, manifest, task, cfg.ReaderOptions(), rows, func(i int, doc *data.Document) error {
			if string(doc.ID) != to[i][0].ID {
				return input.ErrChanged(manifest.Split(task))
			}
			fill(to[i], doc)
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			for _, list := range to {
				gone(list, err)
			}
		}
		advance(1)
	}
	for _, row := range all {
		gone(wanted[row], fmt.Errorf("the run has no row %d", row))
	}
	return nil
}

// fill puts a document where it is shown.
func fill(to []*Document, doc *data.Document) {
	for _, d := range to {
		d.Gone = nil
		d.Title, d.Text = show.Excerpt(doc.Title, mostTitle), show.Excerpt(doc.Text, mostText)
		d.Cut = len(d.Text) > 0 && len(d.Text) < len(doc.Text)
		if doc.Date != data.NoDate {
			d.Date = time.UnixMilli(doc.Date).UTC().Format(time.DateOnly)
		}
		if len(doc.Text) == 0 {
			d.Gone = errNoText
		}
	}
}

var errNoText = errors.New("the document has no text")

// gone says of documents why they have no text, unless they have one.
func gone(list []*Document, err error) {
	for _, d := range list {
		if d.Text == "" && d.Gone == nil {
			d.Gone = err
		}
	}
}
