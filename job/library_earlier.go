package job

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// earlierDocument is what the library says of one of tonight's documents.
type earlierDocument struct {
	ID        string
	FirstSeen string           // night in which the library first had the id; "" it had not
	Match     *reducer.Earlier // best match in an earlier night; nil without one
	Clusters  []string         // of the earlier documents that it matches, as they are today
}

// tonight is the night at hand, in memory.
type tonight struct {
	rows    int
	ids     []byte
	ends    []int    // of ids
	units   []uint32 // by row; noUnit for documents that are not matched
	views   []data.View
	table   []uint64 // hash table of ids: 32 bits of the hash, row + 1
	mask    uint64
	exact   []atomic.Int64 // by unit: earlier documents of the same fingerprint …
	last    []atomic.Int64 // … and those of the night before
	members []uint32       // by unit: tonight's documents
	kinds   []driftKey     // by row
}

const noUnit = ^uint32(0)

func (n *tonight) id(row int) []byte {
	start := 0
	if row > 0 {
		start = n.ends[row-1]
	}
	return n.ids[start:n.ends[row]]
}

// readTonight reads the night's documents and makes units of those that are
// matched.
func (r *run) readTonight(ctx context.Context) (n *tonight, err error) {
	n = &tonight{}
	byView := map[string]uint32{}
	sites := map[driftKey]driftKey{}
	var packed []byte
	err = r.eachOfNight(ctx, func(row *data.LibraryRow) error {
		n.ids = append(n.ids, row.DocID...)
		n.ends = append(n.ends, len(n.ids))
		kind := driftKey{string(row.Site), row.Language}
		if known, ok := sites[kind]; ok { // one copy of each site's name
			kind = known
		} else {
			sites[kind] = kind
		}
		n.kinds = append(n.kinds, kind)
		v, ok := r.viewOf(row)
		if !ok {
			n.units = append(n.units, noUnit)
			return nil
		}
		packed = packView(packed[:0], &v)
		unit, there := byView[string(packed)]
		if !there {
			unit = uint32(len(n.views))
			byView[string(packed)] = unit
			v.Letters = bytes.Clone(v.Letters)
			n.views = append(n.views, v)
			n.members = append(n.members, 0)
		}
		n.members[unit]++
		n.units = append(n.units, unit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	n.rows = len(n.units)
	size := uint64(4)
	for size < 3*uint64(n.rows) {
		size *= 2
	}
	n.table, n.mask = make([]uint64, size), size-1
	for row := range n.rows {
		h := xxh3.Hash(n.id(row))
		at := h & n.mask
		for n.table[at] != 0 {
			at = (at + 1) & n.mask
		}
		n.table[at] = h&^(1<<32-1) | uint64(row+1)
	}
	n.exact, n.last = make([]atomic.Int64, len(n.views)), make([]atomic.Int64, len(n.views))
	return n, nil
}

// find returns the row of that id, or -1.
func (n *tonight) find(id []byte) int {
	h := xxh3.Hash(id)
	for at := h & n.mask; n.table[at] != 0; at = (at + 1) & n.mask {
		e := n.table[at]
		if e>>32 != h>>32 {
			continue
		}
		if row := int(e&(1<<32-1)) - 1; bytes.Equal(n.id(row), id) {
			return row
		}
	}
	return -1
}

// viewOf is what a verdict looks at of a document; ok is false for one that
// is not matched. Its letters are the row's.
func (r *run) viewOf(row *data.LibraryRow) (v data.View, ok bool) {
	v.Hi, v.Lo, v.Normal = row.Hi, row.Lo, row.Lane == simhash.LaneNormal.String()
	if !r.config.Match.Verified() {
		return v, v.Normal
	}
	v.Length, v.Letters = uint32(max(row.Length, 0)), row.Letters
	copy(v.Sketch[:], row.Sketch)
	return v, v.Normal || len(row.Sketch) > 0
}

// packView packs a view as a key of a map.
func packView(dst []byte, v *data.View) []byte {
	dst = binary.BigEndian.AppendUint64(dst, v.Hi)
	dst = binary.BigEndian.AppendUint64(dst, v.Lo)
	dst = binary.BigEndian.AppendUint32(dst, v.Length)
	normal := byte(0)
	if v.Normal {
		normal = 1
	}
	dst = append(append(dst, normal), v.Sketch[:]...)
	return append(dst, v.Letters...)
}

// columnsOfEarlier are the columns of the library that the join reads.
func (r *run) columnsOfEarlier() []string {
	columns := []string{"doc_id", "fingerprint", "lane", "first_seen", "cluster_id"}
	if r.config.Match.Verified() {
		columns = append(columns, "length", "sketch", "letters")
	}
	return columns
}

// earlier streams the documents of earlier nights past tonight's and writes
// what the library says of each of tonight's.
func (r *run) earlier(ctx context.Context) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	rec = rundir.TaskRecord{Stage: stageEarlier, Counts: map[string]int64{}}
	night := r.config.Library.Night
	n, err := r.readTonight(ctx)
	if err != nil {
		return rec, err
	}
	rec.RowsIn, rec.RowsOut = int64(n.rows), int64(n.rows)
	index, err := mapper.NewTonight(n.views, r.meetOptions())
	if err != nil {
		return rec, fmt.Errorf("%s: %w", stageEarlier, err)
	}
	before := ""
	for _, have := range r.library.Manifest().Nights {
		if have.Name < night {
			before = have.Name
			rec.Counts["nights"]++
		}
	}
	earliest := reducer.NewEarliest(index.Units())
	firstSeen := make([]string, n.rows)
	var locks [256]sync.Mutex // of firstSeen
	meeters := make([]*earlierReader, r.workers)
	var documents atomic.Int64
	advance, finish := r.Progress(stageEarlier, earlierRows(r.library.Manifest(), night), "tasks")
	defer finish()
	err = r.library.Stream(ctx, library.StreamOptions{Before: night, Columns: r.columnsOfEarlier(), Workers: r.workers}, func(worker int, b *library.Batch) error {
		m := meeters[worker]
		if m == nil {
			m = &earlierReader{meeter: index.NewMeeter(r.judge())}
			meeters[worker] = m
		}
		documents.Add(int64(b.N))
		advance(int64(b.N))
		seen := ""
		for i, id := range b.DocID {
			row := n.find(id)
			if row < 0 {
				continue
			}
			if string(b.FirstSeen[i]) != seen {
				seen = string(b.FirstSeen[i])
			}
			lock := &locks[row%len(locks)]
			lock.Lock()
			if firstSeen[row] == "" || seen < firstSeen[row] {
				firstSeen[row] = seen
			}
			lock.Unlock()
		}
		m.meeter.Meet(m.rows(b), func(met mapper.Meeting) {
			earliest.Add(met.Unit, &reducer.EarlierRow{
				Night: b.Night, ID: b.DocID[met.Row], FirstSeen: b.FirstSeen[met.Row], Cluster: b.Cluster[met.Row],
				Distance: met.Distance, Similarity: met.Similarity, Reason: met.Reason,
			})
			if met.Distance == 0 {
				n.exact[met.Unit].Add(1)
				if b.Night == before {
					n.last[met.Unit].Add(1)
				}
			}
		})
		return nil
	})
	if err != nil {
		return rec, fmt.Errorf("%s: %w", stageEarlier, err)
	}
	rec.Counts["documents"] = documents.Load()

	today, err := r.currentClusters(ctx, earliest, index.Units())
	if err != nil {
		return rec, err
	}
	drift, err := r.writeEarlier(n, earliest, firstSeen, today)
	if err != nil {
		return rec, err
	}
	for _, d := range drift {
		rec.Counts["new"] += d.New
		rec.Counts["repeated"] += d.Repeated
		rec.Counts["returning"] += d.Returning
	}
	if err := errors.Join(r.writeDrift(drift), r.writeGrowth(n)); err != nil {
		return rec, err
	}
	rec.Outputs = []string{
		filepath.Join(rundir.State, earlierFile),
		filepath.Join(rundir.Drift, rundir.PartName(0, ".parquet")), filepath.Join(rundir.Growth, rundir.PartName(0, ".parquet")),
	}
	rec.Seconds = time.Since(began).Seconds()
	return rec, r.dir.PutRecord(rec)
}

func earlierRows(m *library.Manifest, before string) (rows int64) {
	for _, n := range m.Nights {
		if n.Name < before {
			rows += n.Live()
		}
	}
	return rows
}

// meetOptions say which documents of two nights meet.
func (r *run) meetOptions() mapper.MeetOptions {
	m := r.config.Match
	return mapper.MeetOptions{Bits: r.config.Features.Bits, Distance: m.Distance, Bands: m.Bands, ShortTexts: m.ShortTexts, Workers: r.workers}
}

// judge returns the verdict on two documents that met, for one goroutine; nil
// when the distance alone decides. The texts of earlier nights are gone: what
// they would settle, the estimate decides.
func (r *run) judge() mapper.Judge {
	if !r.config.Match.Verified() {
		return nil
	}
	verifier := mapper.NewVerifier(r.config.Match.Rules())
	return func(a, b *data.View) (bool, mapper.Evidence) {
		verdict, similarity := verifier.Judge(a, b)
		reason := verdict.Reason
		if verdict.Open {
			reason = sketch.ReasonSketchAlike
		}
		return verdict.Same, mapper.Evidence{Similarity: similarity, Reason: reason}
	}
}

// earlierReader turns batches of a library into what a Meeter takes.
type earlierReader struct {
	meeter  *mapper.Meeter
	columns mapper.EarlierRows
}

var laneNormal = []byte(simhash.LaneNormal.String())

func (e *earlierReader) rows(b *library.Batch) *mapper.EarlierRows {
	c := &e.columns
	c.N, c.Hi, c.Lo = b.N, b.Hi, b.Lo
	c.Normal = slices.Grow(c.Normal[:0], b.N)[:b.N]
	for i, lane := range b.Lane {
		c.Normal[i] = bytes.Equal(lane, laneNormal)
	}
	c.Sketch = func(i int) []byte { return b.Sketch[i] }
	c.View = func(i int, v *data.View) {
		*v = data.View{Lo: b.Lo[i], Normal: c.Normal[i]}
		if len(b.Hi) > 0 {
			v.Hi = b.Hi[i]
		}
		if len(b.Length) > 0 {
			v.Length = uint32(max(b.Length[i], 0))
		}
		if len(b.Sketch) > 0 {
			copy(v.Sketch[:], b.Sketch[i])
		}
		if len(b.Letters) > 0 {
			v.Letters = b.Letters[i]
		}
	}
	return c
}

// currentClusters gives what the clusters of all matches are today.
func (r *run) currentClusters(ctx context.Context, earliest *reducer.Earliest, units int) (map[string]string, error) {
	var ids []string
	seen := map[string]bool{}
	for u := range uint32(units) {
		for _, c := range earliest.Clusters(u) {
			if !seen[c] {
				seen[c] = true
				ids = append(ids, c)
			}
		}
	}
	return r.library.Current(ctx, r.config.Library.Night, ids)
}

// writeEarlier writes what the library says of tonight's documents, and counts
// them by site and language.
func (r *run) writeEarlier(n *tonight, earliest *reducer.Earliest, firstSeen []string, today map[string]string) (_ map[driftKey]*data.DriftRow, err error) {
	f, err := data.CreateAtomic(r.dir.Path(rundir.State, earlierFile))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Abort()) }()
	enc := gob.NewEncoder(f)
	drift := map[driftKey]*data.DriftRow{}
	current := make([][]string, len(n.views))
	for row := range n.rows {
		d := earlierDocument{ID: string(n.id(row)), FirstSeen: firstSeen[row]}
		if u := n.units[row]; u != noUnit {
			if m, ok := earliest.Match(u, n.id(row)); ok {
				d.Match = &m
			}
			if clusters := earliest.Clusters(u); current[u] == nil && len(clusters) > 0 {
				for _, c := range clusters {
					if now, ok := today[c]; ok {
						c = now
					}
					current[u] = append(current[u], c)
				}
				slices.Sort(current[u])
				current[u] = slices.Compact(current[u])
			}
			d.Clusters = current[u]
		}
		known := drift[n.kinds[row]]
		if known == nil {
			known = &data.DriftRow{Night: r.config.Library.Night, Site: []byte(n.kinds[row].site), Language: n.kinds[row].language}
			drift[n.kinds[row]] = known
		}
		known.Documents++
		switch {
		case d.FirstSeen != "":
			known.Returning++
		case len(d.Clusters) > 0:
			known.Repeated++
		default:
			known.New++
		}
		if d.FirstSeen == "" && d.Match == nil && len(d.Clusters) == 0 {
			continue
		}
		if err := enc.Encode(d); err != nil {
			return nil, fmt.Errorf("%s: %w", stageEarlier, err)
		}
	}
	return drift, f.Commit()
}

// driftKey is what documents are counted by.
type driftKey struct{ site, language string }

func (r *run) writeDrift(drift map[driftKey]*data.DriftRow) (err error) {
	path, err := r.dir.Part(rundir.Drift, 0, ".parquet")
	if err != nil {
		return err
	}
	out, err := parquet.CreateDrift(path, r.job.TableOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	rows := slices.SortedFunc(maps.Values(drift), func(a, b *data.DriftRow) int {
		return cmp.Or(bytes.Compare(a.Site, b.Site), strings.Compare(a.Language, b.Language))
	})
	for _, row := range rows {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Commit()
}

// growing are the fingerprints that most of tonight's documents share and more
// than on the night before.
const growing = 100

func (r *run) writeGrowth(n *tonight) (err error) {
	var hot []data.GrowthRow
	first := make([]int, len(n.views))
	for row := n.rows - 1; row >= 0; row-- {
		if u := n.units[row]; u != noUnit {
			first[u] = row
		}
	}
	for u := range n.views {
		now := int64(n.members[u])
		if now < 2 || now <= n.last[u].Load() {
			continue
		}
		hot = append(hot, data.GrowthRow{
			Night: r.config.Library.Night, Hi: n.views[u].Hi, Lo: n.views[u].Lo,
			Documents: now, Before: n.last[u].Load(), Earlier: n.exact[u].Load(), Example: bytes.Clone(n.id(first[u])),
		})
	}
	slices.SortFunc(hot, func(a, b data.GrowthRow) int {
		return cmp.Or(cmp.Compare(b.Documents-b.Before, a.Documents-a.Before), bytes.Compare(a.Example, b.Example))
	})
	path, err := r.dir.Part(rundir.Growth, 0, ".parquet")
	if err != nil {
		return err
	}
	out, err := parquet.CreateGrowth(path, r.job.TableOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	for i := range hot[:min(len(hot), growing)] {
		if err := out.Write(&hot[i]); err != nil {
			return err
		}
	}
	return out.Commit()
}
