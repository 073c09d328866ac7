package engine

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
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/idtable"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/template"
)

// StageHistory is the stage's name in task records and progress.
const StageHistory = "history"

// HistoryParts is a folder within the run directory's state in which an engine
// keeps what it found in splits of the library that it has finished. It is of no
// use, and to be removed, once the stage is done.
const HistoryParts = "history.parts"

// RunDocuments is this run's documents as the join with earlier nights takes them: which
// units there are depends on these documents alone. It never changes, and
// is safe for concurrent use.
type RunDocuments struct {
	IDs   idtable.Table
	Units []uint32 // by row; NoUnit for documents that are not matched
	Views *mapper.Units
	plain map[int]plainLook // by row: of NoUnit
	rule  mapper.Rule
	match config.Match
	bits  int
	night string
	index func() (*mapper.Index, error) // made when it is asked for first

	hot int // different earlier documents of hot keys that a joiner gathers, at most
}

// maxHot is how many different documents of hot keys a joiner gathers.
const maxHot = 32 << 10

// plainLook is what tells whether a document that is not matched is as it was.
type plainLook struct {
	hi, lo      uint64
	lengthClass string
	length      int32
}

// NoUnit is the unit of a document that is not matched.
const NoUnit = ^uint32(0)

// ReadRunDocuments reads the night's documents of a run of so many splits. The first
// Join indexes those that are matched, on so many goroutines. each is called for
// every row; it may be nil, and keeps nothing of it.
func ReadRunDocuments(ctx context.Context, cfg config.Config, dir *rundir.Dir, splits, workers int, each func(doc uint64, row *data.LibraryRow)) (*RunDocuments, error) {
	rule, err := RuleOf(dir.Path(), cfg.Match)
	if err != nil {
		return nil, err
	}
	n := newRunDocuments(cfg, rule)
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

// NewRunDocuments makes a night of rows that no run has fingerprinted, each of another
// id; their order is the night's. The night's name is in the settings.
func NewRunDocuments(cfg config.Config, workers int, rows []data.LibraryRow) *RunDocuments {
	n := newRunDocuments(cfg, Rule(cfg.Match))
	for i := range rows {
		n.add(&rows[i])
	}
	n.indexOn(workers)
	return n
}

func newRunDocuments(cfg config.Config, rule mapper.Rule) *RunDocuments {
	return &RunDocuments{match: cfg.Match, Views: mapper.NewUnits(cfg.Match.Verified()), plain: map[int]plainLook{}, rule: rule, bits: cfg.Features.Bits, night: cfg.Library.Night, hot: maxHot}
}

// add takes the night's next document.
func (n *RunDocuments) add(row *data.LibraryRow) {
	n.IDs.Add(row.DocID)
	unit := NoUnit
	if v, ok := n.view(row); ok {
		unit = n.Views.Add(&v)
	} else {
		n.plain[len(n.Units)] = plain(row)
	}
	n.Units = append(n.Units, unit)
}

// pairsAtOnce is how many units Pairs compares with all before it visits what they
// are like.
const pairsAtOnce = 4096

// Pairs visits the units of the night in their order, each with the units before
// it that are the same, in no particular order, and whether that is reason enough
// for a document to go. What visit gets is valid during the call.
func (n *RunDocuments) Pairs(ctx context.Context, visit func(unit uint32, same []Same)) error {
	index, err := n.index()
	if err != nil {
		return err
	}
	prober, all := index.NewProber(estimator(n.rule)), n.Views.Rows()
	found := make([][]Same, pairsAtOnce)
	for first := 0; first < all.N && ctx.Err() == nil; first += pairsAtOnce {
		last := min(first+pairsAtOnce, all.N)
		part := &mapper.HistoryRows{
			N: last - first, Hi: all.Hi[first:last], Lo: all.Lo[first:last], Normal: all.Normal[first:last],
			Sketch:  func(i int) []byte { return all.Sketch(first + i) },
			Letters: func(i int) []byte { return all.Letters(first + i) },
			View:    func(i int, v *data.View) { all.View(first+i, v) },
		}
		prober.Probe(part, func(met mapper.HistoryMatch) {
			if int(met.Unit) < first+met.Row {
				found[met.Row] = append(found[met.Row], Same{met.Unit, Proves(&n.match, met.Evidence)})
			}
		}, nil)
		for i := range part.N {
			visit(uint32(first+i), found[i]) //nolint:gosec // units are counted in 32 bits
			found[i] = found[i][:0]
		}
	}
	return ctx.Err()
}

// Same is a unit that is the same as another.
type Same struct {
	Unit   uint32
	Proven bool // see Proves
}

// indexOn has the first Join index the documents that are matched, on so many
// goroutines.
func (n *RunDocuments) indexOn(workers int) {
	n.index = sync.OnceValues(func() (*mapper.Index, error) {
		return mapper.NewIndex(n.Views, n.rule, n.bits, workers)
	})
}

// EachOfNight calls yield with the documents of split task, whose first is
// first, as the library keeps them: the first of each id, in order. columns are
// of data.FingerprintColumns. It returns how many rows the split has in all.
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

// EachFingerprinted calls yield with all documents of a split in that way.
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

// columns are those that the join reads, with more.
func (n *RunDocuments) columns(more ...string) []string {
	columns := append([]string{"fingerprint", "length_class", "length"}, more...)
	if n.rule.Estimates() {
		columns = append(columns, "sketch", "letters")
	}
	return columns
}

// view is what a verdict looks at of a document; ok is false for one that is
// not matched. Its letters are the row's.
func (n *RunDocuments) view(row *data.LibraryRow) (v data.View, ok bool) {
	v.Hi, v.Lo, v.Normal = row.Hi, row.Lo, row.LengthClass == simhash.LengthNormal
	if !n.rule.Verified {
		return v, v.Normal
	}
	v.Length, v.Letters = uint32(max(row.Length, 0)), row.Letters
	copy(v.Sketch[:], row.Sketch)
	return v, v.Normal || len(row.Sketch) > 0
}

// Before says which documents of a library are of earlier nights.
func (n *RunDocuments) Before() library.StreamOptions { return library.StreamOptions{Before: n.night} }

// NewMatches returns what gathers for the night what a library knows of it.
func (n *RunDocuments) NewMatches(m *library.Manifest) *history.Matches {
	var before []string
	for _, have := range m.Nights {
		if have.Name < n.night {
			before = append(before, have.Name)
		}
	}
	return history.New(n.IDs.Len(), n.Views.Len(), before...)
}

// Join streams the documents of earlier nights in the splits past this run's, on
// workers goroutines, each of which holds a batch of rows, and adds the matches
// to found. advance is told of the documents as they pass, concurrently.
func (n *RunDocuments) Join(ctx context.Context, l *library.Library, splits []library.Split, workers int, found *history.Matches, advance func(documents int64)) error {
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
			j = &joiner{night: n, index: index, prober: index.NewProber(estimator(n.rule))}
			joiners[worker] = j
		}
		j.join(b, found)
		found.Pass(int64(len(b.Rows)))
		advance(int64(len(b.Rows)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", StageHistory, err)
	}
	joiners = slices.DeleteFunc(joiners, func(j *joiner) bool { return j == nil })
	err = Parallel(ctx, len(joiners), workers, func(ctx context.Context, i int) error {
		joiners[i].flush(found)
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", StageHistory, err)
	}
	return nil
}

// joiner joins batches of a library with this run's documents, one after the other.
type joiner struct {
	night   *RunDocuments
	index   *mapper.Index
	prober  *mapper.Prober
	columns mapper.HistoryRows

	hot      *mapper.Units    // the different documents that share a hot key; nil: none yet
	gathered *history.Matches // those that look like each of them
	view     data.View
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
	j.prober.Probe(rows, func(met mapper.HistoryMatch) {
		row := historyRow(b, met.Row)
		row.Distance, row.Kept = met.Distance, row.Kept && Proves(&j.night.match, met.Evidence)
		row.Similarity, row.Reason = told(met.Evidence)
		found.Add(met.Unit, &row)
	}, func(i int) { j.gather(b, i, rows, found) })
}

func plain(row *data.LibraryRow) plainLook {
	return plainLook{row.Hi, row.Lo, row.LengthClass, row.Length}
}

func historyRow(b *library.Batch, i int) history.Row {
	row := &b.Rows[i]
	return history.Row{Night: b.Night, ID: row.DocID, FirstSeen: row.FirstSeen, Cluster: row.Cluster, Kept: row.Kept}
}

// gather takes an earlier document that shares a hot key: those that look alike
// are compared with this run's as one.
func (j *joiner) gather(b *library.Batch, i int, rows *mapper.HistoryRows, found *history.Matches) {
	if j.hot == nil {
		j.hot, j.gathered = mapper.NewUnits(true), found.Alike(j.night.hot)
	}
	rows.View(i, &j.view)
	row := historyRow(b, i)
	j.gathered.Add(j.hot.Add(&j.view), &row)
	if j.hot.Len() == j.night.hot {
		j.flush(found)
	}
}

// flush compares what was gathered with this run's documents, and adds the
// matches to found.
func (j *joiner) flush(found *history.Matches) {
	if j.hot == nil {
		return
	}
	j.index.NewProber(estimator(j.night.rule)).Probe(j.hot.Rows(), func(met mapper.HistoryMatch) {
		if g, ok := j.gathered.Gathered(uint32(met.Row)); ok {
			similarity, reason := told(met.Evidence)
			if !Proves(&j.night.match, met.Evidence) {
				g.Kept = nil
			}
			found.TakeAlike(met.Unit, &g, met.Distance, similarity, reason)
		}
	}, nil)
	j.hot, j.gathered = nil, nil
}

// rows turns a batch into what a Prober takes.
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

// judge returns the verdict on a candidate pair, for one goroutine; nil
// when the distance alone decides. The texts of earlier nights are gone: what
// they would decide, the estimate does.
func estimator(rule mapper.Rule) func(a, b *data.View) data.Evidence {
	if !rule.Verified {
		return nil
	}
	verifier := mapper.NewVerifier(rule)
	return func(a, b *data.View) data.Evidence { return verifier.Estimated(a, b) }
}

// provenAbove is by how much an estimate is above the limit of a pair that may cost
// a document its place: about 1.6 of its standard errors, so that of pairs at the
// limit one of twenty does. A pair nearer to the limit is reported, and both of its
// documents stay unless the texts say the same.
const provenAbove = 0.08

// Proves reports whether a pair of that evidence is reason enough for one of its
// documents to go for the other.
func Proves(m *config.Match, e data.Evidence) bool {
	if e.Reason == data.BySketches || e.Reason == data.ByEstimate {
		return mapper.EstimatedJaccard(e) >= m.LimitLong+provenAbove
	}
	return e.Reason.Same()
}

// told is what the tables say of a verdict: nothing where the distance alone
// decided.
func told(e data.Evidence) (similarity float64, reason string) {
	if e.Reason == data.ByDistance {
		return 0, ""
	}
	return mapper.EstimatedJaccard(e), e.Reason.String()
}
