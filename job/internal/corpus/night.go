package corpus

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/idtable"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/template"
)

// StageHistory is the name of the stage history in task records and progress.
const StageHistory = "history"

// Night holds this run's documents in memory, for the join with the
// library. A row is a document, in their order; only the first document of each
// id has one. A unit is a set of documents with equal views. It depends on these
// documents alone, so every process numbers rows and units alike. It never
// changes, and is safe for concurrent use.
//
// The join is a broadcast join: documents of the library stream past. Each is
// looked up in IDs, for when its id was first seen, and in an index of the units'
// views, for matches.
type Night struct {
	IDs   idtable.Table
	Units []uint32          // by row; NoUnit for documents that are not matched
	Views *mapper.Units     // by unit
	plain map[int]plainLook // by row with NoUnit
	rule  mapper.Rule
	match config.Match
	bits  int
	night string
	index func() (*mapper.Index, error) // makes the index at the first call

	hot int // maxHot, or less in tests
}

// maxHot is the number of different earlier documents with hot keys that a joiner
// gathers before it compares them.
const maxHot = 32 << 10

// plainLook tells whether a document that is not matched has changed since an
// earlier night.
type plainLook struct {
	hi, lo      uint64
	lengthClass string
	length      int32
}

// NoUnit is the unit of a document that is not matched.
const NoUnit = ^uint32(0)

// ReadNight reads the documents of the run in dir, without later documents
// of an id and deleted ones. It calls each, which may be nil, for every row; each
// must not retain row. The index is made at the first Join, on workers
// goroutines.
func ReadNight(ctx context.Context, cfg config.Config, dir *rundir.Dir, splits, workers int, each func(doc uint64, row *data.LibraryRow)) (*Night, error) {
	rule, err := method.RuleOf(dir.Path(), cfg.Match)
	if err != nil {
		return nil, err
	}
	n := newNight(cfg, rule)
	columns := n.columns("doc_id")
	if each != nil {
		columns = append(columns, "language")
	}
	doc := uint64(0)
	for task := range splits {
		rows, err := EachOfNight(ctx, dir, task, doc, columns, func(doc uint64, row *data.LibraryRow) error {
			n.add(row)
			if each != nil {
				each(doc, row)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		doc += rows
	}
	n.indexOn(workers)
	return n, nil
}

// NewNight makes a Night of rows that come from no run. No two may
// have the same id. The name of the night is in cfg.
func NewNight(cfg config.Config, workers int, rows []data.LibraryRow) *Night {
	n := newNight(cfg, method.Rule(cfg.Match))
	for i := range rows {
		n.add(&rows[i])
	}
	n.indexOn(workers)
	return n
}

func newNight(cfg config.Config, rule mapper.Rule) *Night {
	return &Night{match: cfg.Match, Views: mapper.NewUnits(cfg.Match.Verified()), plain: map[int]plainLook{}, rule: rule, bits: cfg.Features.Bits, night: cfg.Library.Night, hot: maxHot}
}

// add adds the next row.
func (n *Night) add(row *data.LibraryRow) {
	n.IDs.Add(row.DocID)
	unit := NoUnit
	if v, ok := n.view(row); ok {
		unit = n.Views.Add(&v)
	} else {
		n.plain[len(n.Units)] = plain(row)
	}
	n.Units = append(n.Units, unit)
}

// pairsAtOnce is the number of units that Pairs compares with all others before it
// calls visit for them.
const pairsAtOnce = 4096

// Pairs calls visit with every unit, in order, and with the earlier units that are
// the same, in no particular order. same is reused.
func (n *Night) Pairs(ctx context.Context, visit func(unit uint32, same []Same)) error {
	index, err := n.index()
	if err != nil {
		return err
	}
	prober, all := index.NewProber(estimator(n.rule)), n.Views.Rows()
	found := make([][]Same, pairsAtOnce)
	for first := 0; first < all.N && ctx.Err() == nil; first += pairsAtOnce {
		last := min(first+pairsAtOnce, all.N)
		part := all.Part(first, last)
		prober.Probe(part, func(met mapper.HistoryMatch) {
			if int(met.Unit) < first+met.Row {
				found[met.Row] = append(found[met.Row], Same{met.Unit, method.Proves(&n.match, met.Evidence)})
			}
		}, nil)
		for i := range part.N {
			visit(uint32(first+i), found[i]) //nolint:gosec // units are counted in 32 bits
			found[i] = found[i][:0]
		}
	}
	return ctx.Err()
}

// Same is a unit that a verdict calls the same as another.
type Same struct {
	Unit   uint32
	Proven bool // reason enough to remove one of the two; see Proves
}

// indexOn sets n.index, which makes the index on workers goroutines at its first
// call.
func (n *Night) indexOn(workers int) {
	n.index = sync.OnceValues(func() (*mapper.Index, error) {
		return mapper.NewIndex(n.Views, n.rule, n.bits, workers)
	})
}

// EachOfNight calls yield with the documents of split task that the library keeps,
// in order: without later documents of an id and deleted ones. first is the
// number of the split's first document, and columns are names of
// data.FingerprintColumns. row is reused. It returns the number of all rows of
// the split, including those that it left out.
func EachOfNight(ctx context.Context, dir *rundir.Dir, task int, first uint64, columns []string, yield func(doc uint64, row *data.LibraryRow) error) (rows uint64, err error) {
	gone := map[uint64]bool{}
	err = exactdup.Read(ExactPath(dir, task), func(d exactdup.Document) error {
		if !d.IsEqual() {
			gone[d.Doc] = true
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = EachFingerprinted(ctx, dir, task, columns, func(row *data.LibraryRow) error {
		doc := first + rows
		if rows++; gone[doc] {
			return nil
		}
		return yield(doc, row)
	})
	return rows, err
}

// EachFingerprinted calls yield with all documents of a split, as rows of the
// library. The row is reused.
func EachFingerprinted(ctx context.Context, dir *rundir.Dir, task int, columns []string, yield func(*data.LibraryRow) error) error {
	var out data.LibraryRow
	path := dir.Path(rundir.Fingerprints, rundir.PartName(task, ".parquet"))
	return parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{Columns: columns}, func(row *data.FingerprintRow) error {
		out = data.LibraryRow{
			DocID: row.DocID, Hi: row.Hi, Lo: row.Lo, LengthClass: row.LengthClass, Length: row.Length, Sketch: row.Sketch, Letters: row.Letters,
			Site: append(out.Site[:0], template.Site(row.DocID)...), Language: row.Language, Date: row.Date,
		}
		return yield(&out)
	})
}

// columns returns the columns that the join reads, and more.
func (n *Night) columns(more ...string) []string {
	columns := append([]string{"fingerprint", "length_class", "length"}, more...)
	if n.rule.Estimates() {
		columns = append(columns, "sketch", "letters")
	}
	return columns
}

// view returns the view of a document; ok is false if it is not matched. The
// view's letters share the memory of the row.
func (n *Night) view(row *data.LibraryRow) (v data.View, ok bool) {
	v.Hi, v.Lo, v.Normal = row.Hi, row.Lo, row.LengthClass == simhash.LengthNormal
	if !n.rule.Verified {
		return v, v.Normal
	}
	v.Length, v.Letters = uint32(max(row.Length, 0)), row.Letters
	copy(v.Sketch[:], row.Sketch)
	return v, v.Normal || len(row.Sketch) > 0
}

// Before returns the options that stream the nights of a library before this one.
func (n *Night) Before() library.StreamOptions { return library.StreamOptions{Before: n.night} }

// NewMatches returns empty Matches for these documents and the earlier nights of a
// library with manifest m.
func (n *Night) NewMatches(m *library.Manifest) *history.Matches {
	var before []string
	for _, have := range m.Nights {
		if have.Name < n.night {
			before = append(before, have.Name)
		}
	}
	return history.New(n.IDs.Len(), n.Views.Len(), before...)
}

// Join streams the documents of earlier nights in the splits past this run's
// documents, and adds the matches to found. It uses workers goroutines, each of
// which holds one batch of rows in memory. It calls advance concurrently with the
// number of documents that have been compared.
func (n *Night) Join(ctx context.Context, l *library.Library, splits []library.Split, workers int, found *history.Matches, advance func(documents int64)) error {
	if len(splits) == 0 {
		return nil
	}
	index, err := n.index()
	if err != nil {
		return fmt.Errorf("%s: %w", StageHistory, err)
	}
	joiners := make([]*joiner, workers)
	o := n.Before()
	o.Splits, o.Columns, o.Workers = splits, n.columns("doc_id", "first_seen", "cluster_id", "kept"), workers
	err = l.Stream(ctx, o, func(worker int, b *library.Batch) error {
		j := joiners[worker]
		if j == nil {
			j = &joiner{night: n, index: index, prober: index.NewProber(estimator(n.rule)), advance: advance}
			joiners[worker] = j
		}
		j.join(b, found)
		found.Pass(int64(len(b.Rows)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", StageHistory, err)
	}
	joiners = slices.DeleteFunc(joiners, func(j *joiner) bool { return j == nil })
	err = parallel.Each(ctx, len(joiners), workers, func(ctx context.Context, i int) error {
		joiners[i].flush(found)
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", StageHistory, err)
	}
	return nil
}

// joiner joins batches of a library with this run's documents, for one goroutine.
//
// A hot key would bring each of its earlier documents together with each of this
// run's. So the joiner gathers earlier documents that share a hot key, merges
// those with equal views into one, and compares that once.
type joiner struct {
	night   *Night
	index   *mapper.Index
	prober  *mapper.Prober
	columns mapper.HistoryRows

	hot      *mapper.Units    // distinct views of documents that share a hot key; nil if there are none yet
	gathered *history.Matches // by unit of hot: the documents with that view
	held     int64            // how many documents were gathered
	view     data.View

	advance func(documents int64)
}

func (j *joiner) join(b *library.Batch, found *history.Matches) {
	rows := j.rows(b)
	for i := range b.Rows {
		was := &b.Rows[i]
		row := j.night.IDs.Find(was.DocID)
		if row < 0 {
			continue
		}
		unchanged := ""
		if j.night.Units[row] == NoUnit && was.Kept && j.night.plain[row] == plain(was) {
			unchanged = b.Night
		}
		found.Seen(row, was.FirstSeen, unchanged)
	}
	compared := int64(rows.N)
	j.prober.Probe(rows, func(met mapper.HistoryMatch) {
		row := historyRow(b, met.Row)
		row.Distance, row.Kept = met.Distance, row.Kept && method.Proves(&j.night.match, met.Evidence)
		row.Similarity, row.Reason = told(met.Evidence)
		found.Add(met.Unit, &row)
	}, func(i int) {
		compared--
		j.gather(b, i, rows, found)
	})
	j.advance(compared)
}

func plain(row *data.LibraryRow) plainLook {
	return plainLook{row.Hi, row.Lo, row.LengthClass, row.Length}
}

func historyRow(b *library.Batch, i int) history.Row {
	row := &b.Rows[i]
	return history.Row{Night: b.Night, ID: row.DocID, FirstSeen: row.FirstSeen, Cluster: row.Cluster, Kept: row.Kept}
}

// gather adds row i of a batch, an earlier document with a hot key, to those that
// flush compares. It flushes when it has gathered enough.
func (j *joiner) gather(b *library.Batch, i int, rows *mapper.HistoryRows, found *history.Matches) {
	if j.hot == nil {
		j.hot, j.gathered = mapper.NewUnits(true), found.Alike(j.night.hot)
	}
	rows.View(i, &j.view)
	row := historyRow(b, i)
	j.gathered.Add(j.hot.Add(&j.view), &row)
	j.held++
	if j.hot.Len() == j.night.hot {
		j.flush(found)
	}
}

// flush compares the gathered documents with this run's, adds the matches to
// found, and forgets them.
func (j *joiner) flush(found *history.Matches) {
	if j.hot == nil {
		return
	}
	prober, all := j.index.NewProber(estimator(j.night.rule)), j.hot.Rows()
	passed, n := int64(0), int64(all.N)
	for first := 0; first < all.N; first += hotAtOnce {
		last := min(first+hotAtOnce, all.N)
		prober.Probe(all.Part(first, last), func(met mapper.HistoryMatch) {
			if g, ok := j.gathered.Gathered(uint32(first + met.Row)); ok { //nolint:gosec // units are counted in 32 bits
				j.takeAlike(&g, met, found)
			}
		}, nil)
		now := j.held * int64(last) / n
		j.advance(now - passed)
		passed = now
	}
	j.hot, j.gathered, j.held = nil, nil, 0
}

// hotAtOnce is how many of the gathered views are compared before progress is told:
// each may meet all documents of this run.
const hotAtOnce = 512

// takeAlike adds to found what was gathered of a view that matches a unit.
func (j *joiner) takeAlike(g *history.Gathered, met mapper.HistoryMatch, found *history.Matches) {
	similarity, reason := told(met.Evidence)
	if !method.Proves(&j.night.match, met.Evidence) {
		g.Kept = nil
	}
	found.TakeAlike(met.Unit, g, met.Distance, similarity, reason)
}

// rows returns a batch in the columns that a Prober takes. They are reused, and
// refer to b.
func (j *joiner) rows(b *library.Batch) *mapper.HistoryRows {
	c := &j.columns
	c.N, c.Hi, c.Lo, c.Normal = len(b.Rows), c.Hi[:0], c.Lo[:0], c.Normal[:0]
	for i := range b.Rows {
		row := &b.Rows[i]
		c.Lo, c.Normal = append(c.Lo, row.Lo), append(c.Normal, row.LengthClass == simhash.LengthNormal)
		if j.night.bits == 128 {
			c.Hi = append(c.Hi, row.Hi)
		}
	}
	c.Sketch = func(i int) []byte { return b.Rows[i].Sketch }
	c.Letters = func(i int) []byte { return b.Rows[i].Letters }
	c.View = func(i int, v *data.View) { *v, _ = j.night.view(&b.Rows[i]) }
	return c
}

// estimator returns a function that gives the verdict on a candidate pair, for
// use by one goroutine; nil if the distance alone decides. The texts of earlier
// nights are gone, so the estimate decides where texts otherwise would.
func estimator(rule mapper.Rule) func(a, b *data.View) data.Evidence {
	if !rule.Verified {
		return nil
	}
	verifier := mapper.NewVerifier(rule)
	return func(a, b *data.View) data.Evidence { return verifier.Estimated(a, b) }
}

// told returns what the tables say of a verdict: 0 and "" if the distance alone
// decided.
func told(e data.Evidence) (similarity float64, reason string) {
	if e.Reason == data.ByDistance {
		return 0, ""
	}
	return mapper.EstimatedJaccard(e), e.Reason.String()
}
