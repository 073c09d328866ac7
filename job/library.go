package job

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/extsort"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/job/version"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
	"github.com/neardup/neardup/simhash/template"
)

// Stages of a run with a library.
const (
	stageNight   = "night"   // the night's documents in order of id, as the library keeps them
	stageEarlier = "earlier" // tonight's documents against those of earlier nights
	stageAdd     = "add"     // the night becomes a part of the library
)

// Names within the state folder.
const (
	nightFile   = "night.parquet" // a library's table: the night's documents
	earlierFile = "earlier"       // what the library says of them
)

// LibraryCounts is what a run learned from its library and did to it.
type LibraryCounts struct {
	Path      string `json:"path"`
	Night     string `json:"night"`
	Nights    int    `json:"nights"`    // that tonight was compared with
	Documents int64  `json:"documents"` // of those nights
	Matched   int64  `json:"matched"`   // of tonight's documents have their best match in an earlier night
	New       int64  `json:"new"`       // neither the id nor the content was there
	Repeated  int64  `json:"repeated"`  // another id, but the content was there
	Returning int64  `json:"returning"` // the id was there
	Continued int64  `json:"continued"` // clusters of tonight that continue an earlier one
	Merges    int64  `json:"merges"`    // earlier clusters that tonight joined with another
	Added     int64  `json:"added"`     // documents added
	Left      int64  `json:"left"`      // not added: they were deleted for good
	Replaced  bool   `json:"replaced"`  // the library had the night
}

// LibrarySettings says what fingerprints have to have in common to be compared.
func LibrarySettings(c config.Config) (map[string]string, error) {
	text, err := json.Marshal(c.Features)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	s := map[string]string{"input.html": c.Input.HTML, "match.sketches": fmt.Sprint(c.Match.Verified())}
	for name, v := range fields {
		if name == "segmenter" { // both cut alike
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		s["features."+name] = strings.Trim(string(text), `"`)
	}
	for name, paths := range map[string][]string{"stop_list": {c.Features.StopList}, "user_words": c.Features.UserWords, "templates": {c.Features.Templates}} {
		if len(paths) == 0 || paths[0] == "" {
			continue
		}
		h := sha256.New()
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("config: %w", err)
			}
			sum := sha256.Sum256(text)
			h.Write(sum[:])
		}
		s["features."+name] = hex.EncodeToString(h.Sum(nil)[:8]) // files count by their content
	}
	return s, nil
}

// checkLibrary tells, before any work, what openLibrary would refuse.
func checkLibrary(c config.Config) error {
	if _, err := library.CheckNight(c.Library.Night); err != nil {
		return err
	}
	m, err := library.ReadManifest(c.Library.Path)
	if errors.Is(err, library.ErrNone) {
		return nil
	}
	if err != nil || len(m.Nights) == 0 {
		return err
	}
	settings, err := LibrarySettings(c)
	if err != nil {
		return err
	}
	return library.CompareSettings(m.Settings, settings)
}

// libraryState is what the state folder keeps of the library.
type libraryState struct {
	Change int64 `json:"change"` // its sequence when the run began to read it
}

const libraryFile = "library.json"

// openLibrary locks the run's library, and compares its settings. Where the
// library has changed since an earlier process of this run began to read it,
// what the run made of it is made again.
func (r *run) openLibrary(ctx context.Context) error {
	c := r.config.Library
	settings, err := LibrarySettings(r.config)
	if err != nil {
		return err
	}
	r.library, err = library.Lock(ctx, c.Path, library.Options{
		Version: version.Version,
		Waiting: func() { r.Log.Info("another neardup has the library: waiting for it", "library", c.Path) },
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(r.config)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if err := r.library.Settle(r.config.Features.Bits, settings, text); err != nil {
		return err
	}
	m := r.library.Manifest()
	var state libraryState
	err = rundir.ReadJSON(r.dir.Path(rundir.State, libraryFile), &state)
	if err == nil {
		r.change = state.Change
		if n, ok := m.Night(c.Night); state.Change == m.Sequence || ok && n.Run == r.token() {
			return nil // nothing has changed, but for the night that this run has added
		}
		r.Log.Info("the library has changed since this run was interrupted: matching again", "library", c.Path)
		for _, stage := range []string{stageOrder, stageNight, stageEarlier, stageMatch, stageClean} {
			for task := range max(len(r.job.Splits), 1) {
				if err := os.Remove(r.dir.RecordPath(stage, task)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.change = m.Sequence
	return rundir.WriteJSON(r.dir.Path(rundir.State, libraryFile), libraryState{Change: r.change})
}

// token tells the night that this run adds from others of its name.
func (r *run) token() string { return fmt.Sprintf("%s-%d", r.job.Hash, r.change) }

// deleted reports whether the library was told to forget the id for good.
func (r *run) deleted(id []byte) bool { return r.library != nil && r.library.Hidden().Forever(id) }

// inherit executes the stages that say what earlier nights know of tonight.
func (r *run) inherit(ctx context.Context, s *Summary) error {
	night, err := r.single(stageNight, func() (rundir.TaskRecord, error) { return r.night(ctx) })
	if err != nil {
		return err
	}
	if night.RowsIn != s.Documents {
		return fmt.Errorf("%s: %w: %d rows fingerprinted, %d rows came in", stageNight, rundir.ErrNotConserved, s.Documents, night.RowsIn)
	}
	rec, err := r.single(stageEarlier, func() (rundir.TaskRecord, error) { return r.earlier(ctx) })
	if err != nil {
		return err
	}
	if rec.RowsIn != night.RowsOut {
		return fmt.Errorf("%s: %w: %d documents of the night, %d came in", stageEarlier, rundir.ErrNotConserved, night.RowsOut, rec.RowsIn)
	}
	s.Library = &LibraryCounts{
		Path: r.config.Library.Path, Night: r.config.Library.Night,
		Nights: int(rec.Counts["nights"]), Documents: rec.Counts["documents"],
		New: rec.Counts["new"], Repeated: rec.Counts["repeated"], Returning: rec.Counts["returning"],
	}
	return nil
}

// addNight makes the night a part of the library, unless an earlier process of
// this run did.
func (r *run) addNight(ctx context.Context, s *Summary, counts MatchCounts) (err error) {
	began := time.Now()
	l := s.Library
	l.Matched, l.Continued, l.Merges, l.Left = counts.Earlier, counts.Continued, int64(len(counts.Merges)), s.Skipped[data.ReasonDeleted]
	if n, ok := r.library.Manifest().Night(l.Night); ok && n.Run == r.token() {
		l.Added = n.Rows
		return nil
	}
	_, finish := r.Progress(stageAdd, 1, "tasks")
	defer finish()
	added, err := r.library.Add(ctx, l.Night, r.token(), func(yield func(*data.LibraryRow) error) error {
		return r.libraryRows(ctx, yield)
	}, func(yield func(from, into []byte) error) error {
		for _, m := range counts.Merges {
			if err := yield([]byte(m.From), []byte(m.Into)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", stageAdd, err)
	}
	l.Added, l.Replaced = added.Rows, added.Replaced
	r.stages = append(r.stages, StageTime{Stage: stageAdd, Tasks: 1, Seconds: time.Since(began).Seconds()})
	return nil
}

// libraryRows yields the night's documents as the library keeps them: with the
// night in which each was first seen, and its cluster.
func (r *run) libraryRows(ctx context.Context, yield func(*data.LibraryRow) error) (err error) {
	known, err := r.openEarlier()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, known.close()) }()
	clusters, err := r.openClusters()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clusters.close()) }()
	return r.eachOfNight(ctx, func(row *data.LibraryRow) error {
		d, err := known.of(row.DocID)
		if err != nil {
			return err
		}
		row.FirstSeen = r.config.Library.Night
		if d != nil && d.FirstSeen != "" {
			row.FirstSeen = d.FirstSeen
		}
		if row.Cluster, err = clusters.of(row.DocID); err != nil {
			return err
		}
		return yield(row)
	})
}

// eachOfNight calls yield with the night's documents in order of id.
func (r *run) eachOfNight(ctx context.Context, yield func(*data.LibraryRow) error) (err error) {
	in, err := parquet.OpenLibrary(r.dir.Path(rundir.State, nightFile), 0, -1, parquet.ReadOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var row data.LibraryRow
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range b.N {
			b.Row(i, &row)
			if err := yield(&row); err != nil {
				return err
			}
		}
	}
}

// clusterReader reads the clusters table, asked in order of id.
type clusterReader struct {
	paths []string
	in    *parquet.ClusterReader
	row   data.ClusterRow
	more  bool
}

func (r *run) openClusters() (*clusterReader, error) {
	paths, err := r.dir.Parts(rundir.Clusters)
	if err != nil {
		return nil, err
	}
	c := &clusterReader{paths: paths, more: true}
	return c, c.advance()
}

func (c *clusterReader) advance() error {
	for {
		if c.in == nil {
			if len(c.paths) == 0 {
				c.more = false
				return nil
			}
			var err error
			if c.in, err = parquet.OpenClusters(c.paths[0], parquet.ReadOptions{}); err != nil {
				return err
			}
			c.paths = c.paths[1:]
		}
		err := c.in.Read(&c.row)
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := c.close(); err != nil {
			return err
		}
	}
}

// of returns the document's cluster, nil if it is alone. It is valid until the
// next call.
func (c *clusterReader) of(id []byte) ([]byte, error) {
	for c.more && bytes.Compare(c.row.DocID, id) < 0 {
		if err := c.advance(); err != nil {
			return nil, err
		}
	}
	if c.more && bytes.Equal(c.row.DocID, id) {
		return c.row.ClusterID, nil
	}
	return nil, nil
}

func (c *clusterReader) close() error {
	if c.in == nil {
		return nil
	}
	in := c.in
	c.in = nil
	return in.Close()
}

// night sorts all rows of the fingerprints table by id, and writes those
// that the library is to have: the first of each id, in all lanes.
func (r *run) night(ctx context.Context) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	rec = rundir.TaskRecord{Stage: stageNight, Skipped: map[string]int64{}}
	sorter := extsort.New(r.dir.Path(rundir.Scratch), sortMemory, r.workers)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	var packed []byte
	for i := range r.job.Splits {
		path := r.dir.Path(rundir.Fingerprints, rundir.PartName(i, ".parquet"))
		err := parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			packed = packNight(packed[:0], uint64(rec.RowsIn), row)
			rec.RowsIn++
			return sorter.Add(row.DocID, packed)
		})
		if err != nil {
			return rec, err
		}
	}
	out, err := parquet.CreateLibrary(r.dir.Path(rundir.State, nightFile), r.job.TableOptions())
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	row := data.LibraryRow{Night: r.config.Library.Night, FirstSeen: r.config.Library.Night}
	err = sorter.Sorted(ctx, func(id, packed []byte) error {
		if rec.RowsOut > 0 && bytes.Equal(id, row.DocID) {
			rec.Skipped[data.ReasonDuplicateID]++
			return nil
		}
		if r.deleted(id) {
			rec.Skipped[data.ReasonDeleted]++
			return nil
		}
		row.DocID = append(row.DocID[:0], id...)
		unpackNight(packed, &row)
		row.Site = append(row.Site[:0], template.Site(id)...)
		rec.RowsOut++
		return out.Write(&row)
	})
	if err != nil {
		return rec, fmt.Errorf("%s: %w", stageNight, err)
	}
	if err := out.Commit(); err != nil {
		return rec, err
	}
	rec.Outputs = []string{filepath.Join(rundir.State, nightFile)}
	rec.Seconds = time.Since(began).Seconds()
	return rec, r.dir.PutRecord(rec)
}

// packNight packs what travels with an id through the sort; the row comes
// first and big-endian, so that rows of one id keep the input's order.
func packNight(dst []byte, number uint64, row *data.FingerprintRow) []byte {
	dst = binary.BigEndian.AppendUint64(dst, number)
	dst = binary.BigEndian.AppendUint64(dst, row.Hi)
	dst = binary.BigEndian.AppendUint64(dst, row.Lo)
	dst = binary.BigEndian.AppendUint64(dst, uint64(row.Date))
	dst = binary.BigEndian.AppendUint32(dst, uint32(row.Length))
	for _, part := range [][]byte{[]byte(row.Lane), row.Sketch, row.Letters} {
		dst = append(binary.AppendUvarint(dst, uint64(len(part))), part...)
	}
	return dst
}

func unpackNight(b []byte, row *data.LibraryRow) {
	row.Hi, row.Lo = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	row.Date = int64(binary.BigEndian.Uint64(b[24:]))
	row.Length = int32(binary.BigEndian.Uint32(b[32:]))
	b = b[36:]
	part := func() []byte {
		n, size := binary.Uvarint(b)
		p := b[size : size+int(n)]
		b = b[size+int(n):]
		return p
	}
	if lane := part(); string(lane) != row.Lane {
		row.Lane = string(lane)
	}
	row.Sketch, row.Letters = part(), part()
}

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

// earlierDocuments yields what the library says of tonight's documents, in
// order of id.
type earlierDocuments struct {
	file *os.File
	dec  *gob.Decoder
	next *earlierDocument // nil at the end
}

func (r *run) openEarlier() (*earlierDocuments, error) {
	f, err := os.Open(r.dir.Path(rundir.State, earlierFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stageEarlier, err)
	}
	e := &earlierDocuments{file: f, dec: gob.NewDecoder(bufio.NewReaderSize(f, 1<<20))}
	if err := e.advance(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return e, nil
}

func (e *earlierDocuments) advance() error {
	d := &earlierDocument{}
	err := e.dec.Decode(d)
	if errors.Is(err, io.EOF) {
		d, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", stageEarlier, e.file.Name(), err)
	}
	e.next = d
	return nil
}

// of returns what the library says of the document, nil if nothing; it is
// asked in order of id.
func (e *earlierDocuments) of(id []byte) (*earlierDocument, error) {
	for e.next != nil {
		switch strings.Compare(e.next.ID, string(id)) {
		case 0:
			d := e.next
			return d, e.advance()
		case 1:
			return nil, nil
		}
		if err := e.advance(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (e *earlierDocuments) close() error { return e.file.Close() }

// heritage is what tonight's matched documents have from earlier nights.
type heritage struct {
	byDoc map[uint32]*earlierDocument // documents that match one of an earlier night, by number
	docs  []uint32                    // their numbers, ascending
}

// readHeritage reads it for the numbered documents.
func (r *run) readHeritage(ctx context.Context, documents *numbered.Folder) (_ *heritage, err error) {
	in, err := r.openEarlier()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	h := &heritage{byDoc: map[uint32]*earlierDocument{}}
	var id []byte
	for doc := range uint32(documents.Len()) {
		if doc&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if in.next == nil {
			break
		}
		if id, err = documents.AppendID(id[:0], doc); err != nil {
			return nil, err
		}
		d, err := in.of(id)
		if err != nil {
			return nil, err
		}
		if d != nil && len(d.Clusters) > 0 {
			h.byDoc[doc] = d
			h.docs = append(h.docs, doc)
		}
	}
	return h, nil
}

// documents are the numbers of documents that match one of an earlier night.
func (h *heritage) documents() []uint32 {
	if h == nil {
		return nil
	}
	return h.docs
}

// match is the document's best match in an earlier night, nil without one.
func (h *heritage) match(doc uint32) *reducer.Earlier {
	if h == nil || h.byDoc[doc] == nil {
		return nil
	}
	return h.byDoc[doc].Match
}

// noDocument stands for a keeper that is in an earlier night.
const noDocument = ^uint32(0)

// writeEarlier writes the match of index i with a document of an earlier night.
func (t *tables) writeEarlier(out *parts[data.MatchRow], i uint32, e *reducer.Earlier) error {
	row := data.MatchRow{
		MatchID: []byte(e.ID), MatchFrom: e.Night, FirstSeen: e.FirstSeen,
		Distance: int32(e.Distance), Similarity: 1 - float64(e.Distance)/float64(t.run.config.Features.Bits),
		Estimate: math.NaN(), Jaccard: math.NaN(), Verdict: byDistance,
	}
	if t.verify != nil {
		row.Estimate, row.Verdict = e.Similarity, e.Reason
	}
	var err error
	if row.DocID, err = t.documents.AppendID(nil, t.ids[i]); err != nil {
		return err
	}
	return out.write(&row)
}

// descend gives tonight's clusters the ids that they have through all nights.
// Clusters that continue the same earlier one become one: the labels returned
// say so.
func (t *tables) descend(labels []uint32, counts *MatchCounts) ([]uint32, error) {
	if t.heritage == nil {
		return labels, nil
	}
	sizes := make(map[uint32]int)
	earlier := make(map[uint32][]string)
	for i, l := range labels {
		sizes[l]++
		if d := t.heritage.byDoc[t.ids[i]]; d != nil {
			earlier[l] = append(earlier[l], d.Clusters...)
		}
	}
	wide := map[uint32]bool{} // components that were cut
	for i, l := range labels {
		if root := t.components.Root(uint32(i)); root != l {
			wide[root] = true
		}
	}
	var clusters []reducer.Descent
	var of []uint32 // their labels
	var id []byte
	for l := range uint32(len(labels)) {
		if sizes[l] < 2 && len(earlier[l]) == 0 {
			continue
		}
		var err error
		if id, err = t.documents.AppendID(id[:0], t.ids[l]); err != nil {
			return nil, err
		}
		slices.Sort(earlier[l])
		clusters = append(clusters, reducer.Descent{
			Founded: reducer.FoundedCluster(t.run.config.Library.Night, id),
			Earlier: slices.Compact(earlier[l]), Alone: wide[t.components.Root(l)],
		})
		of = append(of, l)
	}
	ids, merges := reducer.Descend(clusters)
	counts.Merges = merges
	t.lineage = make(map[uint32]lineage, len(ids))
	first := map[string]uint32{} // label by id
	joined := map[uint32]uint32{}
	for i, id := range ids {
		l, ok := first[id]
		if !ok || clusters[i].Alone {
			l = of[i]
			first[id] = l
		}
		joined[of[i]] = l
		t.lineage[l] = lineage{id: id, continues: id != clusters[i].Founded}
	}
	for _, l := range t.lineage {
		if l.continues {
			counts.Continued++
		}
	}
	out := slices.Clone(labels)
	for i, l := range labels {
		if to, ok := joined[l]; ok {
			out[i] = to
		}
	}
	return out, nil
}

// lineage is what a cluster is through all nights.
type lineage struct {
	id        string
	continues bool // it began in an earlier night
}

// isCluster reports whether a label of so many documents is a cluster.
func (t *tables) isCluster(label, size uint32) bool {
	return size > 1 || t.continues(label) && size > 0
}

func (t *tables) continues(label uint32) bool { return t.lineage[label].continues }

// clusterID appends the id of a cluster.
func (t *tables) clusterID(dst []byte, label uint32) ([]byte, error) {
	if l, ok := t.lineage[label]; ok {
		return append(dst, l.id...), nil
	}
	return t.documents.AppendID(dst, t.ids[label])
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
