package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"

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
	languages, sites, copied *tally
	distances                [129]int64
	alike                    [alikeBins]int64

	clusters *ranked[*clusterRefs]
	chosen   map[string]*clusterRefs // the clusters by id
	near     *ranked[pairRefs]
	within   *ranked[pairRefs]
	left     *ranked[pairRefs]
	examples map[string]*example // documents of texts that grow, by id

	key []byte // two sites
}

// ref is a document of the run, by its row, or of an earlier night, by its id.
type ref struct {
	row   int64  // as in the tables; data.NoRow: it is of an earlier night
	night string // that it is of
	id    string
}

// refOf is a document that a table names beside its own.
func refOf(row int64, from string, id []byte) ref {
	if row != data.NoRow {
		from = ""
	}
	return ref{row, from, string(id)}
}

// pairRefs are two documents, and what is said of them.
type pairRefs struct {
	a, b ref
	evidence
}

// evidence is what the run knows of a pair.
type evidence struct {
	Reason                         string // why the clean dump leaves the first out; "": it does not say
	Verdict                        string
	Distance                       int32 // data.NoDistance: not known
	Estimate, Jaccard, Containment float64
}

// clusterRefs are the documents of a cluster that are shown.
type clusterRefs struct {
	id             string
	size           int64
	representative *ref // the one that stays; nil: it is of an earlier night
	history        *ref // that one, as far as a document is left out for it
	members        []ref
}

// example is the first document of a text that grows, and its cluster.
type example struct {
	row     int64
	cluster string
}

// alikeBins is how many ranges of similarity are counted: each of 0.05, and 1.
const alikeBins = 21

// heaviestSites is how many sites, and pairs of sites, are counted with
// certainty.
const heaviestSites = 10_000

func newScan(path string, manifest rundir.Manifest, cfg config.Config) *scan {
	return &scan{
		path: path, manifest: manifest, config: cfg, rng: rand.New(rand.NewPCG(1, 2)), verdicts: map[string]int64{}, removed: map[string]int64{},
		languages: newTally(heaviestSites), sites: newTally(heaviestSites), copied: newTally(heaviestSites),
		clusters: &ranked[*clusterRefs]{most: mostClusters}, chosen: map[string]*clusterRefs{}, examples: map[string]*example{},
		// Of these some are left out, so that no document is shown twice.
		near: &ranked[pairRefs]{most: 8 * mostPairs}, within: &ranked[pairRefs]{most: 8 * mostPairs}, left: &ranked[pairRefs]{most: mostPairs},
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
		if e := s.examples[string(row.DocID)]; e != nil && e.row == data.NoRow {
			e.row = row.Row
		}
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
	refs := func() pairRefs {
		return pairRefs{ref{m.Row, "", string(m.DocID)}, refOf(m.MatchRow, m.MatchFrom, m.MatchID), evidence{"", m.Verdict, m.Distance, m.Estimate, m.Jaccard, m.Containment}}
	}
	if m.Verdict == data.Contains.String() || m.Verdict == data.Contained.String() {
		s.within.add(s.rng.Float64(), refs)
		return
	}
	s.distances[min(max(int(m.Distance), 0), len(s.distances)-1)]++
	similarity := figure(m)
	if !math.IsNaN(similarity) {
		s.alike[min(max(int(similarity*(alikeBins-1)+1e-9), 0), alikeBins-1)]++
	}
	if math.IsNaN(similarity) { // the distance alone decided
		similarity = m.Similarity
	}
	s.near.add(similarity+s.rng.Float64()*1e-6, refs) // a choice of those that are as near
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

// member takes a document of a cluster into the largest ones.
func (s *scan) member(row *data.ClusterRow) {
	if e := s.examples[string(row.DocID)]; e != nil && e.cluster == "" {
		e.cluster = string(row.ClusterID)
	}
	if row.Representative && row.Size < 2 {
		return // it is not alike any other that stays, or goes for it
	}
	c := s.chosen[string(row.ClusterID)]
	if c == nil {
		// Of a cluster that is not among the largest now no later row is.
		gone, added := s.clusters.add(-float64(row.Size), func() *clusterRefs {
			c = &clusterRefs{id: string(row.ClusterID), size: int64(row.Size)}
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
	of := ref{row.Row, "", string(row.DocID)}
	if row.Representative {
		c.representative = &of
	} else if len(c.members) < mostMembers {
		c.members = append(c.members, of)
	}
}

// leave counts a document that the clean dump leaves out, and takes it into the
// sample if it is not its id that is to blame.
func (s *scan) leave(r *data.RemovedRow) {
	s.removed[r.Reason]++
	if r.Reason == decision.DuplicateID.String() || r.Reason == decision.Deleted.String() {
		return
	}
	if string(r.Site) != string(r.KeptSite) {
		s.key = append(append(append(s.key[:0], r.Site...), betweenSites...), r.KeptSite...)
		s.copied.add(s.key, counts{Left: 1, Documents: 1})
	}
	if c := s.chosen[string(r.ClusterID)]; c != nil && c.history == nil && r.KeptRow == data.NoRow {
		of := refOf(r.KeptRow, r.KeptFrom, r.KeptID)
		c.history = &of
	}
	s.left.add(s.rng.Float64(), func() pairRefs {
		return pairRefs{ref{r.Row, "", string(r.DocID)}, refOf(r.KeptRow, r.KeptFrom, r.KeptID), evidence{r.Reason, r.Verdict, r.Distance, r.Estimate, r.Jaccard, r.Containment}}
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
