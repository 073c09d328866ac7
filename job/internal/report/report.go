// Package report shows a finished run to a person, on one page that needs
// nothing else: what came in and what went, the largest clusters, samples of
// pairs and of what was left out, with their texts. It reads the run's tables
// as they stand, in memory that does not grow with them, and changes nothing.
package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
)

// Report is a finished run as its page shows it.
type Report struct {
	Run      string
	Version  string    // of the program that wrote the tables
	Finished time.Time // in UTC
	Settings []setting
	Summary  job.Summary

	Cleaned   bool             // there is a clean dump
	Removed   map[string]int64 // documents that it leaves out, by reason
	AllPairs  bool             // the pairs are all that were confirmed, else each document's best match
	Pairs     int64
	Verdicts  []count
	Languages []group
	Sites     []group
	Partial   bool // the figures of sites are of at least so many
	Shared    []sitePair
	Distances histogram
	Alike     histogram

	Largest []cluster
	Near    []pair
	Within  []pair // one contains the other
	Left    []pair // the document that is left out, and the one for which it is
	NoTexts string // why texts are missing
	Nights  []night
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

type sitePair struct {
	A, B  string
	Pairs int64
}

// cluster is one of the largest: the document that stays, beside some of the
// others.
type cluster struct {
	Size           int64
	Representative *document // nil: it is of an earlier night
	First          *document // that the members stand beside; nil: the representative
	Members        []pair
}

// pair is two documents with their texts side by side.
type pair struct {
	A, B  *document
	Note  string
	Rows  []show.Row // none without a text, or if the texts are the same
	Equal bool       // word for word, as far as they are compared
}

// Bounds on what a page holds.
const (
	mostGroups    = 25 // sites, and languages
	mostNights    = 31
	mostClusters  = 12
	mostMembers   = 4 // beside the representative
	mostPairs     = 12
	mostRows      = 24      // of texts side by side
	mostTitle     = 200     // characters of a title
	mostBeginning = 60      // and of a text that stands for one
	mostID        = 300     // and of an id
	mostText      = 5000    // and of a text that is compared
	mostLaidOut   = 2 << 20 // bytes of all texts
)

// Read reads the finished run in directory path. pass begins a pass over its
// splits, and returns what is told when some are done.
func Read(ctx context.Context, path string, pass engine.Pass) (*Report, error) {
	manifest, cfg, err := runs.Settings(path)
	if err != nil {
		return nil, err
	}
	done, err := os.Stat(filepath.Join(path, rundir.SuccessFile))
	if err != nil {
		return nil, fmt.Errorf("%s is not finished: the command that began it goes on with it, `neardup status` says how far it is", path)
	}
	r := &Report{Run: path, Finished: done.ModTime().UTC(), Settings: settings(cfg)}
	if err := rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), &r.Summary); err != nil {
		return nil, err
	}
	s := newScan(path, manifest, cfg)
	advance := pass(int64(len(manifest.Splits)), "splits")
	for task := range manifest.Splits {
		if err := s.part(ctx, task); err != nil {
			return nil, err
		}
		advance(1)
	}
	if len(manifest.Splits) > 0 {
		info, err := parquet.ReadInfo(s.table(rundir.Fingerprints, 0))
		if err != nil {
			return nil, err
		}
		r.Version = info.Version
	}
	documents, err := s.documents(ctx, pass(int64(len(manifest.Splits)), "splits"))
	if err != nil {
		return nil, err
	}
	r.figures(s)
	r.Nights = nights(path, &r.Summary)
	r.layOut(s, documents)
	return r, nil
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
	r.Languages, r.Sites, r.Partial = s.languages.shown(mostGroups), s.sites.shown(mostGroups), s.sites.cut || s.shared.cut
	for _, g := range s.shared.largest(mostGroups) {
		if a, b, ok := strings.Cut(g.Name, betweenSites); ok {
			r.Shared = append(r.Shared, sitePair{a, b, g.Matched})
		}
	}
	r.Distances = bars("Distances", "bits in which the two fingerprints differ", s.distances[:], strconv.Itoa)
	r.Alike = bars("Similarities", "similarity of the two texts, from the value shown on", s.alike[:], func(i int) string { return fmt.Sprintf("%.2f", float64(i)/(alikeBins-1)) })
}

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error { return pages.ExecuteTemplate(w, "report.html", r) }
