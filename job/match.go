package job

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/extsort"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/reducer"
)

// partRows is how many rows a part of the matches, pairs or clusters table
// holds at most.
const partRows = 8 << 20

// fromRun is match_from of a document of the same dump.
const fromRun = "run"

// byDistance is the verdict on a match that nothing but its distance confirms.
const byDistance = "distance"

// MatchCounts is what the match stage found.
type MatchCounts struct {
	Checked   int64         `json:"checked"`
	Consulted int64         `json:"consulted"`
	Matched   int64         `json:"matched"`
	Pairs     int64         `json:"pairs"`
	Clusters  int64         `json:"clusters"`
	Clustered int64         `json:"clustered"`
	Cut       int64         `json:"cut"`
	CutSize   int64         `json:"cut_size"`
	Largest   []ClusterSize `json:"largest"`

	Earlier   int64           `json:"earlier,omitempty"`   // documents whose best match is in an earlier night
	Continued int64           `json:"continued,omitempty"` // clusters that continue an earlier one
	Merges    []reducer.Merge `json:"merges,omitempty"`    // of earlier clusters
}

// match finds the pairs, confirms them, reduces them to best matches and
// clusters, and writes their tables and the bitmap of dropped rows. first has
// the row at which each split starts.
func (r *run) match(ctx context.Context, rows int64, first []int64) (rec rundir.TaskRecord, counts MatchCounts, err error) {
	began := time.Now()
	rec = rundir.TaskRecord{Stage: stageMatch}
	documents, err := numbered.Open(r.dir.Path(rundir.State, documentsFolder))
	if err != nil {
		return rec, counts, err
	}
	defer func() { err = errors.Join(err, documents.Close()) }()
	rec.RowsIn, rec.RowsOut = int64(documents.Len()), int64(documents.Len())

	met, err := createPairFile(r.dir.Path(rundir.Scratch, "pairs"), documents.Len())
	if err != nil {
		return rec, counts, err
	}
	defer func() { err = errors.Join(err, met.close()) }()
	found := met
	t := &tables{run: r, rec: &rec, documents: documents}
	if r.config.Match.Verified() {
		if t.verify, err = newVerification(r, documents, first); err != nil {
			return rec, counts, err
		}
		t.verify.unit = t.unit
	}
	if r.library != nil {
		if t.heritage, err = r.readHeritage(ctx, documents); err != nil {
			return rec, counts, err
		}
	}
	if err := r.engine.Match(ctx, r.job, documents, t.verify.filter(met.add)); err != nil {
		return rec, counts, fmt.Errorf("%s: %w", stageMatch, err)
	}
	if t.verify != nil {
		confirmed, err := createPairFile(r.dir.Path(rundir.Scratch, "confirmed"), documents.Len())
		if err != nil {
			return rec, counts, err
		}
		defer func() { err = errors.Join(err, confirmed.close()) }()
		if err := t.verify.confirm(ctx, met, confirmed); err != nil {
			return rec, counts, fmt.Errorf("%s: %w", stageMatch, err)
		}
		counts.Consulted = int64(len(t.verify.settled))
		found = confirmed
	}
	if err := t.reduce(ctx, found); err != nil {
		return rec, counts, err
	}
	components := t.components
	if counts.Checked, err = t.check(ctx); err != nil {
		return rec, counts, err
	}
	if counts.Matched, counts.Earlier, err = t.matches(ctx); err != nil {
		return rec, counts, err
	}
	if r.config.Match.AllPairs {
		if counts.Pairs, err = t.pairs(ctx, found); err != nil {
			return rec, counts, err
		}
	}
	labels, err := t.cluster(ctx, components, found, &counts)
	if err != nil {
		return rec, counts, err
	}
	if labels, err = t.descend(labels, &counts); err != nil {
		return rec, counts, err
	}
	if err := t.clusters(ctx, labels, rows, &counts); err != nil {
		return rec, counts, err
	}
	if err := rundir.WriteJSON(r.dir.Path(rundir.State, countsFile), counts); err != nil {
		return rec, counts, err
	}
	rec.Outputs = append(rec.Outputs, filepath.Join(rundir.State, countsFile))
	rec.Seconds = time.Since(began).Seconds()
	return rec, counts, r.dir.PutRecord(rec)
}

const countsFile = "match.json"

// tables writes the tables of the match stage. It counts the documents that
// have a match anew, from 0 in order of id: an index is a document's place
// among them.
type tables struct {
	run        *run
	rec        *rundir.TaskRecord
	documents  *numbered.Folder
	verify     *verification      // nil: the distance alone decides
	heritage   *heritage          // nil: there is no library
	lineage    map[uint32]lineage // by label; of a run with a library
	matched    *reducer.Subset
	ids        []uint32 // document number by index
	best       *reducer.Best
	components *reducer.Components
	units      []uint32 // by index: the smallest of the documents that nothing tells apart
}

// reduce gives the documents of the pairs their indices, best matches and
// components.
func (t *tables) reduce(ctx context.Context, found *pairFile) error {
	for _, doc := range t.heritage.documents() {
		found.matched.Add(doc)
	}
	found.matched.Seal()
	t.matched, t.ids = found.matched, found.matched.Members()
	t.best = reducer.NewBest(len(t.ids))
	t.components = reducer.NewComponents(len(t.ids))
	t.units = make([]uint32, len(t.ids))
	for i := range t.units {
		t.units[i] = uint32(i)
	}
	return found.each(ctx, func(p data.Pair) error {
		same := p.Distance == 0
		if same && t.verify != nil {
			var err error
			if same, err = t.verify.confirmer.Unit(p.A, p.B); err != nil {
				return err
			}
		}
		p = t.renumbered(p)
		if same {
			t.units[p.B] = p.A
		}
		t.best.Add(p)
		t.components.Add(p)
		return nil
	})
}

// unit returns the smallest document of doc's unit.
func (t *tables) unit(doc uint32) uint32 {
	if i, ok := t.matched.Index(doc); ok {
		return t.ids[t.units[i]]
	}
	return doc // it has no pair, and so no equal
}

// between reports whether the pair, in indices, is one of two units'
// representatives: it then stands for all pairs of their documents.
func (t *tables) between(p data.Pair) bool {
	return t.units[p.A] == p.A && t.units[p.B] == p.B
}

// renumbered gives p in indices.
func (t *tables) renumbered(p data.Pair) data.Pair {
	p.A, _ = t.matched.Index(p.A)
	p.B, _ = t.matched.Index(p.B)
	return p
}

// sink is a table that takes rows of one kind.
type sink[R any] interface {
	Write(*R) error
	Rows() int64
	Commit() error
	Abort() error
}

// parts writes a table as parts of at most partRows rows. Without rows it
// writes one empty part, so that a reader always finds the schema.
type parts[R any] struct {
	tables *tables
	table  string
	create func(path string, o parquet.Options) (sink[R], error)
	out    sink[R]
	n      int
}

func (p *parts[R]) write(row *R) error {
	if p.out != nil && p.out.Rows() >= partRows {
		if err := p.commit(); err != nil {
			return err
		}
	}
	if p.out == nil {
		if err := p.open(); err != nil {
			return err
		}
	}
	return p.out.Write(row)
}

func (p *parts[R]) open() error {
	path, err := p.tables.run.dir.Part(p.table, p.n, ".parquet")
	if err != nil {
		return err
	}
	p.out, err = p.create(path, p.tables.run.job.TableOptions())
	return err
}

func (p *parts[R]) commit() error {
	if err := p.out.Commit(); err != nil {
		return err
	}
	p.tables.rec.Outputs = append(p.tables.rec.Outputs, filepath.Join(p.table, rundir.PartName(p.n, ".parquet")))
	p.out = nil
	p.n++
	return nil
}

// close commits the last part.
func (p *parts[R]) close() error {
	if p.out == nil && p.n == 0 {
		if err := p.open(); err != nil {
			return err
		}
	}
	if p.out == nil {
		return nil
	}
	return p.commit()
}

func (p *parts[R]) abort() error {
	if p.out == nil {
		return nil
	}
	return p.out.Abort()
}

func matchParts(t *tables, table string) *parts[data.MatchRow] {
	return &parts[data.MatchRow]{tables: t, table: table, create: func(path string, o parquet.Options) (sink[data.MatchRow], error) {
		return parquet.CreateMatches(path, o)
	}}
}

// ErrMissed is returned when the join's result differs from a comparison with
// all documents.
var ErrMissed = errors.New("the join missed a match")

// checkWork bounds the comparisons of a run's check of itself, and maxCheck
// the documents that are checked.
const (
	checkWork = 100_000_000
	maxCheck  = 64
)

// sample is a document that check looks at, with its best match.
type sample struct {
	doc, match uint32
	view       data.View
	distance   int // of the match; beyond all distances without one
}

// check compares some documents, spread evenly, with all others, and fails
// unless their best matches are those that the join found. It returns how many
// were checked.
func (t *tables) check(ctx context.Context) (int64, error) {
	n := t.documents.Len()
	if n == 0 {
		return 0, nil
	}
	work := checkWork
	if t.verify != nil {
		work /= 4 // a comparison looks at more
	}
	count := min(max(work/n, 2), maxCheck, n)
	samples := make([]sample, count)
	for i := range samples {
		s := &samples[i]
		s.doc, s.distance = uint32(i*n/count), noDistance
		if err := t.documents.View(s.doc, &s.view); err != nil {
			return 0, err
		}
	}
	err := t.documents.Views(0, n, func(doc uint32, v *data.View) {
		for i := range samples {
			s := &samples[i]
			d := bits.OnesCount64(v.Hi^s.view.Hi) + bits.OnesCount64(v.Lo^s.view.Lo)
			if d < s.distance && doc != s.doc && t.same(s, d, doc, v) {
				s.match, s.distance = doc, d
			}
		}
	})
	if err != nil {
		return 0, err
	}
	for i := range samples {
		s := &samples[i]
		var match uint32
		distance, found := uint8(0), false
		if i, ok := t.matched.Index(s.doc); ok {
			if match, distance, found = t.best.Match(i); found {
				match = t.ids[match]
			}
		}
		want := s.distance < noDistance
		if found == want && (!found || match == s.match && int(distance) == s.distance) {
			continue
		}
		if t.verify != nil {
			other := s.match
			if !want {
				other = match
			}
			if crowded, err := t.verify.crowded(s.doc, other); err != nil || crowded {
				if err != nil {
					return 0, err
				}
				continue
			}
		}
		return 0, fmt.Errorf("%w: document %d has its best match in %d at distance %d, the join says %d at %d (matched: %t): this is a defect of neardup, its tables were not written",
			ErrMissed, s.doc, s.match, s.distance, match, distance, found)
	}
	return int64(count), ctx.Err()
}

// noDistance is beyond all distances.
const noDistance = 1 << 20

// same says whether a sample and another document at distance d are a match.
func (t *tables) same(s *sample, d int, doc uint32, v *data.View) bool {
	if t.verify != nil {
		return t.verify.same(s.doc, doc, &s.view, v)
	}
	return d <= t.run.config.Match.Distance
}

// matches writes every document's best match, in order of id: the nearest, of
// the equally near one of an earlier night, the earliest, then that of the
// smallest id.
func (t *tables) matches(ctx context.Context) (matched, earlier int64, err error) {
	out := matchParts(t, rundir.Matches)
	defer func() { err = errors.Join(err, out.abort()) }()
	ids := t.documents.IDs()
	row := data.MatchRow{MatchFrom: fromRun}
	for i := range uint32(t.best.Len()) {
		if i&0xffff == 0 && ctx.Err() != nil {
			return matched, earlier, ctx.Err()
		}
		other, distance, ok := t.best.Match(i)
		if e := t.heritage.match(t.ids[i]); e != nil && (!ok || e.Distance <= int(distance)) {
			matched++
			earlier++
			if err := t.writeEarlier(out, ids, i, e); err != nil {
				return matched, earlier, err
			}
			continue
		}
		if !ok {
			continue
		}
		matched++
		if err := t.writePair(out, ids, &row, data.Pair{A: i, B: other, Distance: distance}); err != nil {
			return matched, earlier, err
		}
	}
	return matched, earlier, out.close()
}

func (t *tables) writePair(out *parts[data.MatchRow], ids *numbered.IDs, row *data.MatchRow, p data.Pair) (err error) {
	if row.DocID, err = ids.Append(row.DocID[:0], t.ids[p.A]); err != nil {
		return err
	}
	if row.MatchID, err = ids.AppendOther(row.MatchID[:0], t.ids[p.B]); err != nil {
		return err
	}
	row.Distance = int32(p.Distance)
	row.Similarity = 1 - float64(p.Distance)/float64(t.run.config.Features.Bits)
	row.Estimate, row.Jaccard, row.Verdict = math.NaN(), math.NaN(), byDistance
	if t.verify != nil {
		if err := t.verify.evidence(row, t.ids[p.A], t.ids[p.B]); err != nil {
			return err
		}
	}
	return out.write(row)
}

// pairs writes all pairs within the distance, each once, doc_id before
// match_id, in order: the pairs of representatives, each for all documents
// that share their fingerprints.
func (t *tables) pairs(ctx context.Context, found *pairFile) (n int64, err error) {
	members := map[uint32][]uint32{} // of representatives that stand for more than themselves
	for i, rep := range t.units {
		if i := uint32(i); rep != i {
			if members[rep] == nil {
				members[rep] = []uint32{rep}
			}
			members[rep] = append(members[rep], i)
		}
	}
	of := func(rep uint32) []uint32 {
		if m, ok := members[rep]; ok {
			return m
		}
		return []uint32{rep}
	}
	for _, m := range members {
		n += int64(len(m)) * int64(len(m)-1) / 2
	}
	err = found.each(ctx, func(p data.Pair) error {
		if p = t.renumbered(p); t.between(p) {
			n += int64(len(of(p.A))) * int64(len(of(p.B)))
		}
		return nil
	})
	if err != nil {
		return n, err
	}
	if limit := t.run.config.Match.MaxPairs; n > limit {
		return n, fmt.Errorf("%d pairs are more than %d: identical pages make the square of their number; raise match.max_pairs, or leave --pairs out and use the clusters", n, limit)
	}

	all := extsort.New(t.run.dir.Path(rundir.Scratch), sortMemory, t.run.workers)
	defer func() { err = errors.Join(err, all.Close()) }()
	add := func(a, b uint32, distance uint8) error {
		var key [8]byte
		binary.BigEndian.PutUint32(key[:], min(a, b))
		binary.BigEndian.PutUint32(key[4:], max(a, b))
		return all.Add(key[:], []byte{distance})
	}
	for _, m := range members {
		for i, a := range m {
			for _, b := range m[i+1:] {
				if err := add(a, b, 0); err != nil {
					return n, err
				}
			}
		}
	}
	err = found.each(ctx, func(p data.Pair) error {
		if p = t.renumbered(p); !t.between(p) {
			return nil
		}
		for _, a := range of(p.A) {
			for _, b := range of(p.B) {
				if err := add(a, b, p.Distance); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return n, err
	}

	out := matchParts(t, rundir.Pairs)
	defer func() { err = errors.Join(err, out.abort()) }()
	ids := t.documents.IDs()
	row := data.MatchRow{MatchFrom: fromRun}
	err = all.Sorted(ctx, func(key, value []byte) error {
		return t.writePair(out, ids, &row, data.Pair{A: binary.BigEndian.Uint32(key), B: binary.BigEndian.Uint32(key[4:]), Distance: value[0]})
	})
	if err != nil {
		return n, err
	}
	return n, out.close()
}

// cluster gives every index the smallest index of its cluster. A component
// with more distinct fingerprints than the spread bound is cut into clusters
// around centres.
func (t *tables) cluster(ctx context.Context, components *reducer.Components, found *pairFile, counts *MatchCounts) ([]uint32, error) {
	labels := make([]uint32, components.Len())
	spread := make([]uint32, components.Len()) // by root: distinct fingerprints
	for i := range uint32(len(labels)) {
		labels[i] = components.Root(i)
		if t.units[i] == i {
			spread[labels[i]]++
		}
	}
	bound := t.run.config.Clusters.MaxSpread
	wide := map[uint32]*component{} // by root
	for root, n := range spread {
		if bound > 0 && int(n) > bound {
			wide[uint32(root)] = &component{}
		}
	}
	if err := t.keepWide(wide, labels, bound); err != nil || len(wide) == 0 {
		return labels, err
	}

	for i, root := range labels {
		if c, ok := wide[root]; ok {
			c.add(uint32(i), t.units[i])
		}
	}
	err := found.each(ctx, func(p data.Pair) error {
		p = t.renumbered(p)
		if c, ok := wide[labels[p.A]]; ok && t.between(p) {
			c.pairs = append(c.pairs, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	centres := map[uint32]uint32{} // by representative
	for _, c := range wide {
		counts.Cut++
		counts.CutSize = max(counts.CutSize, c.documents)
		for i, centre := range reducer.Centred(c.nodes, c.weights, c.pairs) {
			centres[c.nodes[i]] = centre
		}
	}
	smallest := map[uint32]uint32{} // index of a centre's cluster
	for i, root := range labels {
		if _, ok := wide[root]; ok {
			centre := centres[t.units[i]]
			if _, seen := smallest[centre]; !seen {
				smallest[centre] = uint32(i)
			}
			labels[i] = smallest[centre]
		}
	}
	return labels, nil
}

// keepWide drops the components of no more distinct fingerprints than bound:
// pages of one template have many texts and few fingerprints, and are no
// chain.
func (t *tables) keepWide(wide map[uint32]*component, labels []uint32, bound int) error {
	if t.verify == nil || len(wide) == 0 {
		return nil
	}
	prints := make(map[uint32]map[[2]uint64]bool, len(wide))
	for root := range wide {
		prints[root] = map[[2]uint64]bool{}
	}
	for i, root := range labels {
		seen := prints[root]
		if t.units[i] != uint32(i) || seen == nil || len(seen) > bound {
			continue
		}
		hi, lo, err := t.documents.Fingerprint(t.ids[i])
		if err != nil {
			return err
		}
		seen[[2]uint64{hi, lo}] = true
	}
	for root, seen := range prints {
		if len(seen) <= bound {
			delete(wide, root)
		}
	}
	return nil
}

// component is a connected component that is to be cut.
type component struct {
	documents int64
	nodes     []uint32 // representatives, ascending
	weights   []int    // documents that each stands for
	pairs     []data.Pair
}

// add takes the next index, in ascending order, with its representative.
func (c *component) add(i, rep uint32) {
	c.documents++
	if rep == i {
		c.nodes, c.weights = append(c.nodes, i), append(c.weights, 1)
		return
	}
	at, _ := slices.BinarySearch(c.nodes, rep)
	c.weights[at]++
}

// clusters writes the clusters table, the documents of clusters of at least
// two or that continue an earlier night's in order of id, and the bitmap of the rows that are not kept.
func (t *tables) clusters(ctx context.Context, labels []uint32, rows int64, counts *MatchCounts) (err error) {
	sizes := make([]uint32, len(labels))
	for _, l := range labels {
		sizes[l]++
	}
	rule := keepRule(t.run.config.Clusters.Keep)
	var keepers []reducer.Candidate
	place := make([]uint32, len(labels)) // of a cluster in keepers
	for l, size := range sizes {
		if t.isCluster(uint32(l), size) {
			place[l] = uint32(len(keepers))
			keepers = append(keepers, reducer.Candidate{})
			counts.Clusters++
			counts.Clustered += int64(size)
		}
	}
	err = t.documents.Values(func(doc uint32, v float64) {
		i, ok := t.matched.Index(doc)
		if !ok || !t.isCluster(labels[i], sizes[labels[i]]) {
			return
		}
		l := labels[i]
		c := reducer.Candidate{Doc: i, Value: v}
		if i != l { // l, the smallest, comes first
			c = reducer.Keeper(rule, []reducer.Candidate{keepers[place[l]], c})
		}
		if t.continues(l) && t.run.config.Clusters.Keep == config.KeepEarliest {
			c.Doc = noDocument // the earlier night has it
		}
		keepers[place[l]] = c
	})
	if err != nil {
		return err
	}

	out := &parts[data.ClusterRow]{tables: t, table: rundir.Clusters, create: func(path string, o parquet.Options) (sink[data.ClusterRow], error) {
		return parquet.CreateClusters(path, o)
	}}
	defer func() { err = errors.Join(err, out.abort()) }()
	ids := t.documents.IDs()
	var row data.ClusterRow
	dropped := make([]byte, (rows+7)/8)
	gone := func(row uint64) { dropped[row/8] |= 1 << (row % 8) }
	for i, l := range labels {
		if i&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !t.isCluster(l, sizes[l]) {
			continue
		}
		if row.DocID, err = ids.Append(row.DocID[:0], t.ids[i]); err != nil {
			return err
		}
		if row.ClusterID, err = t.clusterID(row.ClusterID[:0], ids, l); err != nil {
			return err
		}
		row.Size, row.Keeper = int32(sizes[l]), keepers[place[l]].Doc == uint32(i)
		if err := out.write(&row); err != nil {
			return err
		}
	}
	if err := out.close(); err != nil {
		return err
	}
	err = t.documents.Rows(func(doc uint32, row uint64) {
		i, ok := t.matched.Index(doc)
		if ok && t.isCluster(labels[i], sizes[labels[i]]) && keepers[place[labels[i]]].Doc != i {
			gone(row)
		}
	})
	if err != nil {
		return err
	}
	duplicates, err := readDuplicates(t.run.dir.Path(rundir.State, duplicatesFile))
	if err != nil {
		return err
	}
	for _, row := range duplicates {
		gone(row)
	}
	if err := data.WriteFileAtomic(t.run.dir.Path(rundir.State, droppedFile), dropped); err != nil {
		return err
	}
	t.rec.Outputs = append(t.rec.Outputs, filepath.Join(rundir.State, droppedFile))
	return t.largest(sizes, keepers, place, counts)
}

// largest notes the ten largest clusters of two documents of the run or more,
// ties to the smaller id.
func (t *tables) largest(sizes []uint32, keepers []reducer.Candidate, place []uint32, counts *MatchCounts) error {
	const n = 10
	var top []uint32 // clusters
	bySize := func(a, b uint32) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) }
	for l, size := range sizes {
		if size < 2 || len(top) == n && size <= sizes[top[n-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, uint32(l), bySize)
		top = slices.Insert(top, at, uint32(l))
		top = top[:min(len(top), n)]
	}
	for _, l := range top {
		id, err := t.clusterID(nil, t.documents.IDs(), l)
		if err != nil {
			return err
		}
		keeper := keepers[place[l]].Doc
		if keeper == noDocument {
			keeper = l
		}
		example, err := t.documents.AppendID(nil, t.ids[keeper])
		if err != nil {
			return err
		}
		counts.Largest = append(counts.Largest, ClusterSize{ID: string(id), Example: string(example), Size: int64(sizes[l])})
	}
	return nil
}

func keepRule(name string) reducer.Keep {
	switch name {
	case config.KeepLongest, config.KeepRank:
		return reducer.KeepLargest
	case config.KeepEarliest:
		return reducer.KeepLeast
	}
	return reducer.KeepSmallest
}
