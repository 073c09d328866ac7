package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/simhash/template"
)

// scan goes once through the tables of a run and keeps counts and samples.
type scan struct {
	path     string
	manifest rundir.Manifest
	config   config.Config
	rng      *rand.Rand // of a fixed seed: a run has one page

	pairs                    int64
	verdicts                 map[string]int64
	removed                  map[string]int64 // documents that the clean dump leaves out, by reason
	languages, sites, shared *tally
	distances                [129]int64
	alike                    [alikeBins]int64

	clusters *ranked[*clusterIDs]
	chosen   map[string]*clusterIDs // the clusters by id
	near     *ranked[pairIDs]
	within   *ranked[pairIDs]
	left     *ranked[pairIDs]

	key []byte // two sites
}

// pairIDs are two documents, and what is said of them.
type pairIDs struct {
	a, b string // empty: it is of an earlier night
	note string
}

// clusterIDs are the documents of a cluster that are shown.
type clusterIDs struct {
	id             string
	size           int64
	representative string // the one that stays; empty: it is of an earlier night
	members        []string
}

// alikeBins is how many ranges of similarity are counted: each of 0.05, and 1.
const alikeBins = 21

// heaviestSites is how many sites, and pairs of sites, are counted with
// certainty.
const heaviestSites = 10_000

func newScan(path string, manifest rundir.Manifest, cfg config.Config) *scan {
	return &scan{
		path: path, manifest: manifest, config: cfg, rng: rand.New(rand.NewPCG(1, 2)), verdicts: map[string]int64{}, removed: map[string]int64{},
		languages: newTally(heaviestSites), sites: newTally(heaviestSites), shared: newTally(heaviestSites),
		clusters: &ranked[*clusterIDs]{most: mostClusters}, chosen: map[string]*clusterIDs{},
		// Of these some are left out, so that no document is shown twice.
		near: &ranked[pairIDs]{most: 8 * mostPairs}, within: &ranked[pairIDs]{most: 8 * mostPairs}, left: &ranked[pairIDs]{most: mostPairs},
	}
}

// table is the path of a part of a table.
func (s *scan) table(name string, task int) string {
	return filepath.Join(s.path, name, rundir.PartName(task, ".parquet"))
}

// part counts a part of the tables: their rows are in the order of the
// fingerprints.
func (s *scan) part(ctx context.Context, task int) (err error) {
	ofMatch := func(m *data.MatchRow) int64 { return m.Row }
	matches, err := openCursor(&data.Matches, s.table(rundir.Matches, task), true, ofMatch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, matches.close()) }()
	pairs, err := openCursor(&data.Matches, s.table(rundir.Pairs, task), s.config.Match.AllPairs, ofMatch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pairs.close()) }()
	clusters, err := openCursor(&data.Clusters, s.table(rundir.Clusters, task), true, func(c *data.ClusterRow) int64 { return c.Row })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clusters.close()) }()
	removed, err := openCursor(&data.Removed, s.table(rundir.Removed, task), s.config.Output.Clean, func(r *data.RemovedRow) int64 { return r.Row })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removed.close()) }()
	columns := parquet.ReadOptions{Columns: []string{"doc_id", "language", "row"}}
	err = parquet.ReadFingerprints(ctx, s.table(rundir.Fingerprints, task), columns, func(row *data.FingerprintRow) error {
		c := counts{Documents: 1}
		err := matches.each(row.Row, func(m *data.MatchRow) {
			if c.Matched = 1; !s.config.Match.AllPairs {
				s.pair(m)
			}
		})
		err = errors.Join(err, pairs.each(row.Row, s.pair), clusters.each(row.Row, s.member), removed.each(row.Row, func(r *data.RemovedRow) {
			c.Left = 1
			s.leave(r)
		}))
		s.sites.add(template.Site(row.DocID), c)
		s.languages.add([]byte(row.Language), c)
		return err
	})
	if err == nil && (!matches.ended || !pairs.ended || !clusters.ended || !removed.ended) {
		err = fmt.Errorf("%s has not the documents of the other tables' part %d", s.table(rundir.Fingerprints, task), task)
	}
	return err
}

// pair counts a pair, and takes it into the samples.
func (s *scan) pair(m *data.MatchRow) {
	s.pairs++
	s.verdicts[m.Verdict]++
	ids := func() pairIDs { return pairIDs{a: string(m.DocID), b: string(m.MatchID), note: note(m)} }
	if m.Verdict == data.Contains.String() || m.Verdict == data.Contained.String() {
		s.within.add(s.rng.Float64(), ids)
	} else {
		s.distances[min(max(int(m.Distance), 0), len(s.distances)-1)]++
		similarity := figure(m)
		if !math.IsNaN(similarity) {
			s.alike[min(max(int(similarity*(alikeBins-1)+1e-9), 0), alikeBins-1)]++
		}
		if math.IsNaN(similarity) { // the distance alone decided
			similarity = m.Similarity
		}
		s.near.add(similarity+s.rng.Float64()*1e-6, ids) // a choice of those that are as near
	}
	a, b := template.Site(m.DocID), template.Site(m.MatchID)
	if c := strings.Compare(string(a), string(b)); c != 0 {
		if c > 0 {
			a, b = b, a
		}
		s.key = append(append(append(s.key[:0], a...), betweenSites...), b...)
		s.shared.add(s.key, counts{Matched: 1})
	}
}

// betweenSites stands in the key of two sites.
const betweenSites = "\x00"

// figure is how alike the texts of a pair are, as exactly as the run knows it;
// NaN if it did not verify.
func figure(m *data.MatchRow) float64 {
	if math.IsNaN(m.Jaccard) {
		return m.Estimate
	}
	return m.Jaccard
}

// note says what the run knows of a pair.
func note(m *data.MatchRow) string {
	text := figures(m.Verdict, m.Distance, m.Estimate, m.Jaccard, m.Containment)
	if m.MatchFrom != "" && m.MatchFrom != "run" {
		text += ", the second of night " + m.MatchFrom
	}
	return text
}

// figures says what was found of two documents.
func figures(verdict string, distance int32, estimate, jaccard, containment float64) string {
	text := fmt.Sprintf("%s, distance %d", verdict, distance)
	for _, f := range []struct {
		form  string
		value float64
	}{{", estimate %.2f", estimate}, {", J %.3f", jaccard}, {", containment %.3f", containment}} {
		if !math.IsNaN(f.value) {
			text += fmt.Sprintf(f.form, f.value)
		}
	}
	return text
}

// member takes a document of a cluster into the largest ones.
func (s *scan) member(row *data.ClusterRow) {
	if row.Representative && row.Size < 2 {
		return // it is not alike any other that stays, or goes for it
	}
	c := s.chosen[string(row.ClusterID)]
	if c == nil {
		// Of a cluster that is not among the largest now no later row is.
		gone, added := s.clusters.add(-float64(row.Size), func() *clusterIDs {
			c = &clusterIDs{id: string(row.ClusterID), size: int64(row.Size)}
			return c
		})
		if !added {
			return
		}
		if gone != nil {
			delete(s.chosen, gone.id)
		}
		s.chosen[c.id] = c
	}
	if row.Representative {
		c.representative = string(row.DocID)
	} else if len(c.members) < mostMembers {
		c.members = append(c.members, string(row.DocID))
	}
}

// leave counts a document that the clean dump leaves out, and takes it into the
// sample if it is not its id that is to blame.
func (s *scan) leave(r *data.RemovedRow) {
	s.removed[r.Reason]++
	if r.Reason == decision.DuplicateID.String() || r.Reason == decision.Deleted.String() {
		return
	}
	s.left.add(s.rng.Float64(), func() pairIDs {
		p := pairIDs{a: string(r.DocID), note: r.Reason + ": " + figures(r.Verdict, r.Distance, r.Estimate, r.Jaccard, r.Containment)}
		if r.KeptFrom == "run" {
			p.b = string(r.KeptID)
		} else {
			p.note += fmt.Sprintf(", like %s of night %s", r.KeptID, r.KeptFrom)
		}
		return p
	})
}

// cursor is a table at one of its rows.
type cursor[R any] struct {
	in    *parquet.TableReader[R] // nil: the run does not have the table
	of    func(*R) int64          // the document of a row
	row   R
	ended bool
}

func openCursor[R any](table *data.Table[R], path string, there bool, of func(*R) int64) (*cursor[R], error) {
	if !there {
		return &cursor[R]{ended: true}, nil
	}
	in, err := parquet.OpenTable(path, table, parquet.ReadOptions{})
	if err != nil {
		return nil, err
	}
	c := &cursor[R]{in: in, of: of}
	if err := c.next(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return c, nil
}

// each calls yield with the rows of a document, which are next if there are any.
func (c *cursor[R]) each(document int64, yield func(*R)) error {
	for !c.ended && c.of(&c.row) == document {
		yield(&c.row)
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor[R]) next() error {
	err := c.in.Read(&c.row)
	if errors.Is(err, io.EOF) {
		c.ended = true
		return nil
	}
	return err
}

func (c *cursor[R]) close() error {
	if c.in == nil {
		return nil
	}
	return c.in.Close()
}
