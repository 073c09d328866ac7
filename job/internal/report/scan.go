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

	repeated, contained, earlier, pairs int64
	verdicts                            map[string]int64
	languages, sites, shared            *tally
	distances                           [129]int64
	alike                               [alikeBins]int64

	clusters *ranked[*clusterIDs]
	chosen   map[string]*clusterIDs // the clusters by id
	near     *ranked[pairIDs]
	within   *ranked[pairIDs]
	left     *ranked[*pairIDs]

	key []byte // two sites
}

// pairIDs are two documents, and what is said of them.
type pairIDs struct {
	a, b string
	note string
	in   string // cluster whose representative b is; empty if b is known
}

// clusterIDs are the documents of a cluster that are shown.
type clusterIDs struct {
	id      string
	size    int64
	keeper  string // empty: it is of an earlier night
	members []string
}

// alikeBins is how many ranges of similarity are counted: each of 0.05, and 1.
const alikeBins = 21

// heaviestSites is how many sites, and pairs of sites, are counted with
// certainty.
const heaviestSites = 10_000

func newScan(path string, manifest rundir.Manifest, cfg config.Config) *scan {
	return &scan{
		path: path, manifest: manifest, config: cfg, rng: rand.New(rand.NewPCG(1, 2)), verdicts: map[string]int64{},
		languages: newTally(heaviestSites), sites: newTally(heaviestSites), shared: newTally(heaviestSites),
		clusters: &ranked[*clusterIDs]{most: mostClusters}, chosen: map[string]*clusterIDs{},
		// Of these some are left out, so that no document is shown twice.
		near: &ranked[pairIDs]{most: 8 * mostPairs}, within: &ranked[pairIDs]{most: 8 * mostPairs}, left: &ranked[*pairIDs]{most: mostPairs},
	}
}

// table is the path of a part of a table.
func (s *scan) table(name string, task int) string {
	return filepath.Join(s.path, name, rundir.PartName(task, ".parquet"))
}

// part counts a part of the tables: their rows are in the order of the
// fingerprints.
func (s *scan) part(ctx context.Context, task int) (err error) {
	matches, err := openCursor(&data.Matches, s.table(rundir.Matches, task), func(r *data.MatchRow) []byte { return r.DocID })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, matches.close()) }()
	clusters, err := openCursor(&data.Clusters, s.table(rundir.Clusters, task), func(r *data.ClusterRow) []byte { return r.DocID })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clusters.close()) }()
	removed := &cursor[data.RemovedRow]{ended: true}
	if o := s.config.Output; s.config.Library.Path != "" && o.Clean && o.Earlier == config.EarlierDrop {
		removed, err = openCursor(&data.Removed, s.table(rundir.Removed, task), func(r *data.RemovedRow) []byte { return r.DocID })
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, removed.close()) }()
	}
	pairs := &cursor[data.MatchRow]{ended: true}
	if s.config.Match.AllPairs {
		pairs, err = openCursor(&data.Matches, s.table(rundir.Pairs, task), func(r *data.MatchRow) []byte { return r.DocID })
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pairs.close()) }()
	}
	columns := parquet.ReadOptions{Columns: []string{"doc_id", "language"}}
	err = parquet.ReadFingerprints(ctx, s.table(rundir.Fingerprints, task), columns, func(row *data.FingerprintRow) error {
		c := counts{Documents: 1}
		for removed.at(row.DocID) {
			if r := &removed.row; r.Reason == decision.Earlier.String() {
				c.Left = 1
				s.leave(pairIDs{a: string(r.DocID), note: fmt.Sprintf("like %s of night %s", r.KeptID, r.KeptFrom)}, &s.earlier)
			}
			if err := removed.next(); err != nil {
				return err
			}
		}
		for matches.at(row.DocID) {
			c.Matched = 1
			if m := &matches.row; m.Verdict == data.Contained.String() && m.MatchFrom == "run" && s.config.Output.Contained == config.ContainedDrop {
				c.Left = 1
				s.leave(pairIDs{a: string(m.DocID), b: string(m.MatchID), note: "contained in"}, &s.contained)
			}
			if !s.config.Match.AllPairs {
				s.pair(&matches.row)
			}
			if err := matches.next(); err != nil {
				return err
			}
		}
		for pairs.at(row.DocID) {
			s.pair(&pairs.row)
			if err := pairs.next(); err != nil {
				return err
			}
		}
		for clusters.at(row.DocID) {
			s.member(&clusters.row, c.Left > 0)
			if !clusters.row.Keeper {
				c.Left = 1
			}
			if err := clusters.next(); err != nil {
				return err
			}
		}
		s.sites.add(template.Site(row.DocID), c)
		s.languages.add([]byte(row.Language), c)
		return nil
	})
	if err == nil && (!matches.ended || !clusters.ended || !pairs.ended) {
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
		s.key = append(append(append(s.key[:0], a...), 0), b...)
		s.shared.add(s.key, counts{Matched: 1})
	}
}

// cutPair is the inverse of the key of two sites.
func cutPair(key string) (a, b string, ok bool) { return strings.Cut(key, "\x00") }

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
	text := fmt.Sprintf("%s, distance %d", m.Verdict, m.Distance)
	if !math.IsNaN(m.Estimate) {
		text += fmt.Sprintf(", estimate %.2f", m.Estimate)
	}
	if !math.IsNaN(m.Jaccard) {
		text += fmt.Sprintf(", J %.3f", m.Jaccard)
	}
	if !math.IsNaN(m.Containment) {
		text += fmt.Sprintf(", containment %.3f", m.Containment)
	}
	if m.MatchFrom != "" && m.MatchFrom != "run" {
		text += ", the second of night " + m.MatchFrom
	}
	return text
}

// member takes a document of a cluster into the largest ones and into the
// sample of what is left out, unless it is left out already.
func (s *scan) member(row *data.ClusterRow, left bool) {
	if !row.Keeper && !left {
		s.leave(pairIDs{a: string(row.DocID), in: string(row.ClusterID), note: "like"}, &s.repeated)
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
	if row.Keeper {
		c.keeper = string(row.DocID)
	} else if len(c.members) < mostMembers {
		c.members = append(c.members, string(row.DocID))
	}
}

// leave counts a document that the clean dump leaves out, for a reason.
func (s *scan) leave(p pairIDs, reason *int64) {
	*reason++
	s.left.add(s.rng.Float64(), func() *pairIDs { return &p })
}

// findKeepers names the documents that stay for those that are left out.
func (s *scan) findKeepers(ctx context.Context) (err error) {
	of := map[string][]*pairIDs{}
	for _, p := range s.left.items() {
		if p.in != "" {
			of[p.in] = append(of[p.in], p)
		}
	}
	for task := range s.manifest.Splits {
		if len(of) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		clusters, err := openCursor(&data.Clusters, s.table(rundir.Clusters, task), nil)
		for ; err == nil && !clusters.ended; err = clusters.next() {
			if !clusters.row.Keeper {
				continue
			}
			for _, p := range of[string(clusters.row.ClusterID)] {
				p.b = string(clusters.row.DocID)
			}
			delete(of, string(clusters.row.ClusterID))
		}
		if clusters != nil {
			err = errors.Join(err, clusters.close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cursor is a table at one of its rows.
type cursor[R any] struct {
	in    *parquet.TableReader[R]
	id    func(*R) []byte
	row   R
	ended bool
}

func openCursor[R any](table *data.Table[R], path string, id func(*R) []byte) (*cursor[R], error) {
	in, err := parquet.OpenTable(path, table, parquet.ReadOptions{})
	if err != nil {
		return nil, err
	}
	c := &cursor[R]{in: in, id: id}
	if err := c.next(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return c, nil
}

// at reports whether the row is of the document id.
func (c *cursor[R]) at(id []byte) bool { return !c.ended && string(c.id(&c.row)) == string(id) }

func (c *cursor[R]) next() error {
	err := c.in.Read(&c.row)
	if errors.Is(err, io.EOF) {
		c.ended = true
		return nil
	}
	return err
}

func (c *cursor[R]) close() error { return c.in.Close() }
