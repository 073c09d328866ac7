package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/stage/against"
	"github.com/neardup/neardup/simhash/passage"
)

// Against is a finished run against a reference as its page shows it.
type Against struct {
	finished

	Cleaned bool        // there is a clean dump
	Texts   []quoted    // of the reference, those that most documents have
	Sites   []group     // of the documents with hits
	Partial bool        // the figures of texts and sites are of at least so many
	Shares  histogram   // of the reference's texts
	Sets    []hitsOfSet // hits to read
	NoRoom  bool        // texts are missing, to keep the page small
}

// text is a text of the reference.
type text struct{ set, id string }

// quoted is a text of the reference that documents have.
type quoted struct {
	Text      *document
	Set       string
	Documents int64
}

// hitsOfSet is hits of a set of the reference.
type hitsOfSet struct {
	Set  string
	Hits []hit
}

// hit is a hit with the texts side by side: the stretch of the document, and that of the
// reference's text.
type hit struct {
	data.AgainstRow

	Doc, Text     *document
	Before, After string // of the document
	Same          string // the text of both, if it is the same
	Rows          []show.Row
	Gone          error // why a text is missing
}

// Bounds on what a page holds.
const (
	mostSets    = 20
	mostWeak    = 3 // of each set and verdict, the hits with the least in common
	mostDrawn   = 3 // and some by lot
	mostContext = 80
)

// sampled is the hits of a set that may be shown.
type sampled struct {
	hits  int64
	weak  map[string]*ranked[data.AgainstRow] // by verdict
	drawn *ranked[data.AgainstRow]
}

// againstScan goes once through the table of hits, and keeps counts and samples.
type againstScan struct {
	rng          *rand.Rand // of a fixed seed: a run has one page
	sets         map[string]*sampled
	texts, sites *tally
	shares       [alikeBins]int64
	last         data.AgainstRow // the row before; its Row is data.NoRow before the first
}

// row counts a hit.
func (s *againstScan) row(r *data.AgainstRow) {
	again := s.last.Row == r.Row
	if !again {
		s.sites.add(r.Site, counts{Documents: 1})
	}
	if !again || s.last.Set != r.Set || string(s.last.RefID) != string(r.RefID) {
		s.texts.add([]byte(r.Set+betweenSites+string(r.RefID)), counts{Documents: 1})
	}
	s.last = data.AgainstRow{Set: r.Set, RefID: append(s.last.RefID[:0], r.RefID...), Row: r.Row}
	s.shares[min(max(int(r.Share*(alikeBins-1)+1e-9), 0), alikeBins-1)]++
	of := s.sets[r.Set]
	if of == nil {
		of = &sampled{weak: map[string]*ranked[data.AgainstRow]{}, drawn: &ranked[data.AgainstRow]{most: mostDrawn}}
		s.sets[r.Set] = of
	}
	of.hits++
	if of.weak[r.Verdict] == nil {
		of.weak[r.Verdict] = &ranked[data.AgainstRow]{most: mostWeak}
	}
	own := func() data.AgainstRow {
		row := *r
		row.DocID, row.RefID = slices.Clone(r.DocID), slices.Clone(r.RefID)
		return row
	}
	of.weak[r.Verdict].add(strength(r)+s.rng.Float64()*1e-6, own)
	of.drawn.add(s.rng.Float64(), own)
}

// strength is how much is in common, by what the verdict rests on.
func strength(r *data.AgainstRow) float64 {
	switch r.Verdict {
	case passage.Contained.String():
		return r.DocShare
	case passage.Shared.String():
		return float64(r.Run)
	}
	return r.Share
}

// ReadAgainst reads the finished run against a reference in directory path.
func ReadAgainst(ctx context.Context, path string, o Options) (*Against, error) {
	manifest, cfg, err := runs.OfDocuments(path)
	if err != nil {
		return nil, err
	}
	a := &Against{Cleaned: cfg.Output.Clean}
	if a.finished, err = readFinished(path, cfg); err != nil {
		return nil, err
	}
	s := &againstScan{rng: rand.New(rand.NewPCG(1, 2)), sets: map[string]*sampled{}, texts: newTally(heaviestSites), sites: newTally(heaviestSites), last: data.AgainstRow{Row: data.NoRow}}
	advance := o.Pass.Begin(int64(len(manifest.Splits)), "splits")
	for task := range manifest.Splits {
		table := filepath.Join(path, rundir.Against, rundir.PartName(task, ".parquet"))
		err := parquet.ReadTable(ctx, table, &data.Against, func(r *data.AgainstRow) error {
			s.row(r)
			return nil
		})
		if err == nil && task == 0 {
			err = a.wrote(table)
		}
		if err != nil {
			return nil, err
		}
		advance(1)
	}
	a.figures(s)
	if err := a.read(ctx, manifest, cfg, o.Pass.Begin(int64(len(manifest.Splits)), "splits")); err != nil {
		return nil, err
	}
	return a, nil
}

// figures fills in what is counted, and the hits that are shown, without their texts.
func (a *Against) figures(s *againstScan) {
	a.Sites, a.Partial = s.sites.shown(mostGroups), s.sites.cut || s.texts.cut
	a.Shares = bars(s.shares[:], func(i int) string { return fmt.Sprintf("%.2f", float64(i)/(alikeBins-1)) })
	for _, g := range s.texts.largest(mostGroups) {
		set, id, _ := strings.Cut(g.Name, betweenSites)
		a.Texts = append(a.Texts, quoted{&document{ID: show.Excerpt([]byte(id), mostID)}, set, g.Documents})
	}
	names := slices.SortedFunc(maps.Keys(s.sets), func(x, y string) int {
		return cmp.Or(cmp.Compare(s.sets[y].hits, s.sets[x].hits), cmp.Compare(x, y))
	})
	for _, name := range names[:min(len(names), mostSets)] {
		of := hitsOfSet{Set: name}
		add := func(rows []data.AgainstRow) {
			for _, r := range rows {
				if !slices.ContainsFunc(of.Hits, func(h hit) bool {
					return h.Row == r.Row && h.From == r.From && string(h.RefID) == string(r.RefID)
				}) {
					of.Hits = append(of.Hits, hit{AgainstRow: r, Text: &document{ID: show.Excerpt(r.RefID, mostID)}, Doc: &document{ID: show.Excerpt(r.DocID, mostID), URL: urlOf(string(r.DocID))}})
				}
			}
		}
		for _, verdict := range slices.Sorted(maps.Keys(s.sets[name].weak)) {
			add(s.sets[name].weak[verdict].have)
		}
		add(s.sets[name].drawn.have)
		a.Sets = append(a.Sets, of)
	}
}

// errNoText is why a text of the reference is missing, of which there are others.
var errNoText = errors.New("the reference has no such text any more")

// read reads the texts of the hits that are shown, and lays them side by side as far as
// there is room.
func (a *Against) read(ctx context.Context, m rundir.Manifest, cfg config.Config, advance func(int64)) error {
	shown := map[int64][]*hit{} // by document
	for i := range a.Sets {
		for k := range a.Sets[i].Hits {
			h := &a.Sets[i].Hits[k]
			shown[h.Row] = append(shown[h.Row], h)
		}
	}
	all := slices.Sorted(maps.Keys(shown))
	for task := range m.Splits {
		var at []int64
		for len(all) > 0 && all[0] < data.RowNumber(task+1, 0) {
			at, all = append(at, all[0]-data.RowNumber(task, 0)), all[1:]
		}
		read := 0
		err := input.EachRow(ctx, a.Run, m, task, cfg.ReaderOptions(), at, func(i int, doc *data.Document) error {
			for _, h := range shown[data.RowNumber(task, uint64(at[i]))] {
				if string(doc.ID) != string(h.DocID) {
					return input.ErrChanged(m.Split(task))
				}
				h.Doc.fill(doc.Title, doc.Date, doc.Text)
				h.Before, h.Doc.text, h.After = around(doc.Text, h.From, h.To)
			}
			read++
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			for _, row := range at[read:] {
				for _, h := range shown[data.RowNumber(task, uint64(row))] {
					h.Doc.Gone = err
				}
			}
		}
		advance(1)
	}
	a.reference(m, cfg)
	a.layOut()
	return nil
}

// reference reads the texts of the reference that are shown.
func (a *Against) reference(m rundir.Manifest, cfg config.Config) {
	cfg.Against.Paths = slices.Clone(cfg.Against.Paths)
	for i, path := range cfg.Against.Paths {
		cfg.Against.Paths[i] = m.Path(path)
	}
	items := map[text]*document{}
	hits := map[text][]*hit{}
	for _, q := range a.Texts {
		items[text{q.Set, q.Text.ID}] = q.Text
	}
	for i := range a.Sets {
		for k := range a.Sets[i].Hits {
			h := &a.Sets[i].Hits[k]
			hits[text{h.Set, string(h.RefID)}] = append(hits[text{h.Set, string(h.RefID)}], h)
			h.Text.Gone = errNoText
		}
	}
	err := against.EachText(cfg, func(set string, id, body []byte) {
		if d := items[text{set, show.Excerpt(id, mostID)}]; d != nil {
			d.fill(nil, data.NoDate, body)
		}
		for _, h := range hits[text{set, string(id)}] {
			h.Text.fill(nil, data.NoDate, body)
			_, h.Text.text, _ = around(body, h.RefFrom, h.RefTo)
			h.Text.Gone = nil
		}
	})
	if err != nil {
		for _, of := range hits {
			for _, h := range of {
				h.Text.Gone = err
			}
		}
	}
}

// around returns the characters from from to to − 1 of a text, and some before and behind.
func around(of []byte, from, to int64) (before string, stretch []byte, after string) {
	at, character := 0, int64(0)
	seek := func(to int64) int {
		for ; character < to && at < len(of); character++ {
			_, size := utf8.DecodeRune(of[at:])
			at += size
		}
		return at
	}
	context := seek(max(from-mostContext, 0))
	start := seek(from)
	end := seek(to)
	return strings.ToValidUTF8(string(of[context:start]), "\ufffd"), []byte(show.Excerpt(of[start:end], mostText)), show.Excerpt(of[end:], mostContext)
}

// layOut lays the texts side by side, as far as there is room.
func (a *Against) layOut() {
	room := mostLaidOut
	for i := range a.Sets {
		for k := range a.Sets[i].Hits {
			h := &a.Sets[i].Hits[k]
			h.Gone = cmp.Or(h.Doc.Gone, h.Text.Gone)
			if h.Gone != nil || room <= 0 {
				continue
			}
			if string(h.Doc.text) == string(h.Text.text) {
				h.Same = string(h.Doc.text)
			} else {
				h.Rows = show.SideBySide(show.Diff(h.Doc.text, h.Text.text), mostRows)
			}
			room -= sizeOf(h.Rows) + len(h.Same)
		}
	}
	a.NoRoom = room <= 0
}

// WriteHTML writes the page; see Page.
func (a *Against) WriteHTML(w io.Writer, l message.Language) error {
	shown := *a
	return writeBounded(w, "against.html", l, &shown, shown.shrink)
}

// shrink takes from the page half of the hits of each set, then half of its lists. It
// reports whether there was anything to take.
func (a *Against) shrink() (shrunk bool) {
	a.Sets = slices.Clone(a.Sets) // the report keeps its own
	a.NoRoom = true
	for i := range a.Sets {
		if hits := &a.Sets[i].Hits; len(*hits) > 0 {
			*hits, shrunk = (*hits)[:len(*hits)/2], true
		}
	}
	if shrunk {
		return true
	}
	shrunk = len(a.Texts)+len(a.Sites) > 0
	a.Texts, a.Sites = a.Texts[:len(a.Texts)/2], a.Sites[:len(a.Sites)/2]
	return shrunk
}
