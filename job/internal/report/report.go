// Package report shows finished runs to a person, each on one page that needs
// nothing else: what is new and what changed since the night before, what to look
// at first, then what came in and what went, with texts side by side. It reads the
// run's tables as they stand, in memory that does not grow with them, and changes
// nothing.
package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/review"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
)

// Page is a page about a finished run.
type Page interface {
	// WriteHTML writes the page, which needs nothing else, in half a megabyte at most.
	WriteHTML(w io.Writer, l message.Language) error
}

// Open reads the finished run in directory path: a *Report, or of a run against a
// reference an *Against.
func Open(ctx context.Context, path string, o Options) (Page, error) {
	_, cfg, err := runs.OfDocuments(path)
	if err != nil {
		return nil, err
	}
	if cfg.Against.On() {
		return ReadAgainst(ctx, path, o)
	}
	return Read(ctx, path, o)
}

// finished is what each page says of its run.
type finished struct {
	Run      string
	Version  string    // of the program that wrote the tables
	Finished time.Time // in UTC
	Settings []setting
	Summary  job.Summary
}

// readFinished reads what each page says, but for the version.
func readFinished(path string, cfg config.Config) (f finished, err error) {
	done, err := os.Stat(filepath.Join(path, rundir.SuccessFile))
	if err != nil {
		return f, fmt.Errorf("%s is not finished: the command that began it goes on with it, `neardup status` says how far it is", path)
	}
	f = finished{Run: path, Finished: done.ModTime().UTC(), Settings: settings(cfg)}
	return f, rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), &f.Summary)
}

// wrote notes the version of the program that wrote a table.
func (f *finished) wrote(table string) error {
	info, err := parquet.ReadInfo(table)
	f.Version = info.Version
	return err
}

// Report is a finished run as its page shows it.
type Report struct {
	finished

	Nights  []night  // of a library, the run's own first
	Changes []change // against the nights before
	Sources []source // whose documents are more or fewer than the night before

	Cleaned   bool             // there is a clean dump
	Removed   map[string]int64 // documents that it leaves out, by reason
	AllPairs  bool             // the pairs are all that were confirmed, else each document's best match
	Pairs     int64
	Verdicts  []count
	Languages []group
	Sites     []group
	Partial   bool     // the figures of sites are of at least so many
	Copied    []copied // from site to site
	Distances histogram
	Alike     histogram

	Largest []cluster
	Growing []growing
	Near    []pair
	Refused []pair // just beyond the limit
	Widened string // how it was looked for these; empty: it was not
	Within  []pair // one contains the other
	Left    []pair // the document that is left out, and the one for which it is
	NoRoom  bool   // texts are missing, to keep the page small
}

type setting struct{ Name, Value string }

type count struct {
	Name  string
	Count int64
}

// group is what became of the documents of a site or a language.
type group struct {
	Name string
	counts
}

// counts of documents.
type counts struct{ Documents, Matched, Left int64 }

func (c *counts) add(d counts) {
	c.Documents, c.Matched, c.Left = c.Documents+d.Documents, c.Matched+d.Matched, c.Left+d.Left
}

// copied are documents of a site that are left out for those of another.
type copied struct {
	Site, Kept string
	Documents  int64
}

// cluster is one of the largest: the document that stays, beside some of the
// others.
type cluster struct {
	ID             string
	Size           int64
	Representative *document // nil: it is of an earlier night
	History        *document // that one, if it is known
	First          *document // that the members stand beside; nil: the one that stays
	Members        []pair
}

// growing is a text that more documents have than the night before.
type growing struct {
	Example                    *document
	Cluster                    string
	Documents, Before, History int64
}

// pair is two documents with their texts side by side.
type pair struct {
	A, B *document
	evidence
	Rows  []show.Row // none without a text, or if the texts are the same
	Equal bool       // word for word, as far as they are compared
	Gone  error      // why a text is missing
}

// unknown is the evidence of documents that only a cluster connects.
var unknown = evidence{"", "", data.NoDistance, math.NaN(), math.NaN(), math.NaN()}

// Bounds on what a page holds.
const (
	mostGroups    = 25 // sites, and languages
	mostNights    = 31
	mostSources   = 20
	mostClusters  = 10
	mostMembers   = 3 // beside the representative
	mostPairs     = 12
	mostRows      = 24      // of texts side by side
	mostTitle     = 120     // characters of a title
	mostBeginning = 60      // and of a text that stands for one
	mostID        = 200     // and of an id
	mostText      = 5000    // and of a text that is compared
	mostLaidOut   = 250_000 // bytes of all texts
	mostBytes     = 500_000 // of a page
)

// Options of Read.
type Options struct {
	Narrow  bool // do not look for pairs beyond the limit, which matches the run again
	Workers int  // goroutines for that; 0: all cores
	Pass    parallel.Pass
}

// mostWidened is how many documents are matched again, at most, for the pairs
// beyond the limit, and widened the draw that these come from.
const (
	mostWidened = 1 << 20
	widened     = 80
)

// Read reads the finished run in directory path.
func Read(ctx context.Context, path string, o Options) (*Report, error) {
	manifest, cfg, err := runs.Settings(path)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if r.finished, err = readFinished(path, cfg); err != nil {
		return nil, err
	}
	s := newScan(path, manifest, cfg)
	if err := r.compare(ctx, s); err != nil {
		return nil, err
	}
	advance := o.Pass.Begin(int64(len(manifest.Splits)), "splits")
	for task := range manifest.Splits {
		if err := s.part(ctx, task); err != nil {
			return nil, err
		}
		advance(1)
	}
	if len(manifest.Splits) > 0 {
		if err := r.wrote(s.table(rundir.Fingerprints, 0)); err != nil {
			return nil, err
		}
	}
	var refused []pairRefs
	if !o.Narrow && r.Summary.Documents <= mostWidened {
		if refused, err = r.refused(ctx, o); err != nil {
			return nil, err
		}
	}
	documents, err := s.documents(ctx, refused, o.Pass.Begin(int64(len(manifest.Splits)), "splits"))
	if err != nil {
		return nil, err
	}
	r.figures(s)
	r.layOut(s, documents, refused)
	return r, nil
}

// compare compares the night with those before.
func (r *Report) compare(ctx context.Context, s *scan) error {
	l := r.Summary.Library
	if l == nil {
		return nil
	}
	for _, g := range l.Growing {
		s.examples[g.Example] = &example{row: data.NoRow}
	}
	beside, err := runs.History(r.Run)
	if err != nil {
		return err
	}
	r.Nights = nights(&r.Summary, beside)
	r.Changes = changes(r.Nights)
	if len(r.Nights) > 1 {
		r.Sources, err = sources(ctx, r.Run, beside[r.Nights[1].Name])
	}
	return err
}

// refused draws pairs that the run does not take for the same, just beyond its
// limit, the most alike first.
func (r *Report) refused(ctx context.Context, o Options) ([]pairRefs, error) {
	draw, err := review.New(ctx, r.Run, review.Options{Count: widened, Seed: 1, Workers: o.Workers, Pass: o.Pass})
	if err != nil {
		return nil, err
	}
	r.Widened = draw.Widened
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	var list []pairRefs
	for i := range draw.Pairs {
		if p := &draw.Pairs[i]; p.Stratum == review.StratumBelow {
			list = append(list, pairRefs{ref{p.RowA, "", p.A}, refOf(p.RowB, p.Night, []byte(cmp.Or(p.ID, p.B))),
				evidence{"", "", p.Distance, value(p.Estimate), value(p.Jaccard), value(p.Containment)}})
		}
	}
	slices.SortStableFunc(list, func(a, b pairRefs) int {
		return cmp.Or(cmp.Compare(b.Estimate, a.Estimate), cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.a.row, b.a.row))
	})
	return list, nil
}

// settings lists what decides a run's result.
func settings(c config.Config) (list []setting) {
	for _, s := range c.Settings() {
		section, _, _ := strings.Cut(s.Name, ".")
		if v := s.String(); v != "" && section != "execution" && section != "monitor" {
			list = append(list, setting{s.Name, show.Excerpt([]byte(v), mostTitle)})
		}
	}
	return list
}

// figures fills in what is counted.
func (r *Report) figures(s *scan) {
	r.Cleaned, r.Removed, r.AllPairs, r.Pairs = s.config.Output.Clean, s.removed, s.config.Match.AllPairs, s.pairs
	for name, n := range s.verdicts {
		r.Verdicts = append(r.Verdicts, count{name, n})
	}
	slices.SortFunc(r.Verdicts, func(a, b count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	r.Languages, r.Sites, r.Partial = s.languages.shown(mostGroups), s.sites.shown(mostGroups), s.sites.cut || s.copied.cut
	for _, g := range s.copied.largest(mostGroups) {
		if a, b, ok := strings.Cut(g.Name, betweenSites); ok {
			r.Copied = append(r.Copied, copied{a, b, g.Left})
		}
	}
	r.Distances = bars(s.distances[:], strconv.Itoa)
	r.Alike = bars(s.alike[:], func(i int) string { return fmt.Sprintf("%.2f", float64(i)/(alikeBins-1)) })
}

// Preset is the run's.
func (f *finished) Preset() string {
	for _, s := range f.Settings {
		if s.Name == "match.preset" {
			return s.Value
		}
	}
	return ""
}

// WriteHTML writes the report as one page that needs nothing else, of half a
// megabyte at most: what a crawl brings can be long, so texts go first.
func (r *Report) WriteHTML(w io.Writer, l message.Language) error {
	shown := *r
	return writeBounded(w, "report.html", l, &shown, shown.shrink)
}

// writeBounded writes a page, which shrink makes smaller until it is small enough, or
// there is nothing to take.
func writeBounded(w io.Writer, name string, l message.Language, shown any, shrink func() bool) error {
	for {
		var b bytes.Buffer
		if err := write(&b, name, l, shown); err != nil {
			return err
		}
		if b.Len() <= mostBytes || !shrink() {
			_, err := b.WriteTo(w)
			return err
		}
	}
}

// shrink takes from the page the texts of half the pairs that have some, then
// half of its lists. It reports whether there was anything to take.
func (r *Report) shrink() (shrunk bool) {
	lists := []*[]pair{&r.Near, &r.Refused, &r.Left, &r.Within}
	r.Largest = slices.Clone(r.Largest)
	for i := range r.Largest {
		lists = append(lists, &r.Largest[i].Members)
	}
	for _, list := range lists {
		*list = slices.Clone(*list) // the report keeps its own
		with := 0
		for _, p := range *list {
			if len(p.Rows) > 0 {
				with++
			}
		}
		seen := 0
		for i := range *list {
			if p := &(*list)[i]; len(p.Rows) > 0 {
				if seen++; 2*seen > with {
					p.Rows, shrunk = nil, true
				}
			}
		}
	}
	r.NoRoom = true
	if shrunk {
		return true
	}
	half := func(n int) int {
		shrunk = shrunk || n > 0
		return n / 2
	}
	for _, list := range lists {
		*list = (*list)[:half(len(*list))]
	}
	r.Largest, r.Growing = r.Largest[:half(len(r.Largest))], r.Growing[:half(len(r.Growing))]
	r.Sites, r.Copied, r.Sources = r.Sites[:half(len(r.Sites))], r.Copied[:half(len(r.Copied))], r.Sources[:half(len(r.Sources))]
	return shrunk
}
