// Package lookup answers, for one page at a time, which documents of a library the
// page is a near-duplicate of. It uses the same fingerprint, tables and verdict as a
// run, but finds candidates in a store (package data/lookup) that is derived from the
// library.
//
//	page ─► fingerprint ─► keys ─┬─► store: one part a file of the library ─┐
//	                             └─► Added: pages since the last night ─────┴─► verdict ─► Answer
//	                                      │
//	                                      └──── becomes a night ────► library ─► Refresh ─► store
//
// Index.Refresh makes the store follow the library. Between two refreshes an answer
// may lack the newest documents, but never has one that was deleted, expired or
// replaced: each hit is checked against the library's current manifest.
//
// Server serves the answers over HTTP. With Added, the service also accepts pages:
// it logs them, answers from them at once, and from time to time makes them a night of
// the library. The package changes the library in no other way.
package lookup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/version"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/template"
)

// tableDistance is the distance up to which two fingerprints share a value in at
// least one segment table. For larger distances a look-up also asks for the values
// that differ in a few bits (see data/lookup.Reaches).
const tableDistance = 3

// valueBits is how many bits a value of a store's table may have.
const valueBits = 32

// layouts returns the layouts that an index may have. For m = 1, 2, 3 a key is m of
// tableDistance+m segments, which gives 4, 10 and 20 tables.
func layouts(bits int) (all []*simhash.Layout, err error) {
	for chosen := 1; chosen <= 3; chosen++ {
		l, err := simhash.NewCombinations(bits, tableDistance, chosen)
		if err != nil {
			return nil, err
		}
		all = append(all, l.ByKey(valueBits))
	}
	return all, nil
}

// Options of Open.
type Options struct {
	Distance int // largest Hamming distance; < 0: the library's
	Limit    int // matches of an answer; 0: 10
	Tables   int // segment tables: 4, 10 or 20; 0: as the index has, 4 for a new one
	Log      *slog.Logger
	// Reading, when not nil, is called before rows of the library are read for the
	// store, with their number. The function that it returns is called with how many
	// were read, each time that some were.
	Reading func(total int64, unit string) (advance func(int64))
	// Store makes the store for the library at dir; nil: files in its folder.
	Store func(dir string, schema lookup.Schema) (lookup.Store, error)
}

// Index looks pages up in a library. It is safe for concurrent use.
type Index struct {
	dir     string
	config  config.Config
	limit   int
	log     *slog.Logger
	reading func(total int64, unit string) (advance func(int64))
	layout  *simhash.Layout
	reaches [][]int // by the distance of a look-up, and by segment table: see data/lookup.Reaches
	store   lookup.Store
	named   *template.Model // from the file that the settings name; nil: none
	release func() error

	refreshing sync.Mutex
	mu         sync.RWMutex
	manifest   *library.Manifest // that the store's parts belong to
	job        *engine.Job       // with that library's boilerplate templates
	files      map[string]string // by part: the library's file that it was made from
	parts      []string          // in order of name

	looking sync.Mutex
	current atomic.Pointer[current]

	tools sync.Pool // of *tools
	added *Added    // nil: the index accepts no pages
}

// tools are what a look-up works with, for one goroutine at a time.
type tools struct {
	keys     *keys
	verifier *mapper.Verifier
}

func (x *Index) takeTools() *tools {
	if have, ok := x.tools.Get().(*tools); ok {
		return have
	}
	return &tools{x.newKeys(), mapper.NewVerifier(method.Rule(x.config.Match))}
}

// current is the library as it is now. The store may be behind; this manifest decides
// which of the store's documents still count.
type current struct {
	info os.FileInfo // of the manifest's file
	*library.Library
}

// ErrDistance is returned for a distance that look-ups do not support, ErrTables for
// a number of tables that no layout has.
var (
	ErrDistance = errors.New("no distance of look-ups")
	ErrTables   = errors.New("no number of tables: write 4, 10 or 20, or 0 for those that the index has")
)

// Open opens the library at dir and brings its store up to date, which takes
// as long as reading what is new.
func Open(ctx context.Context, dir string, o Options) (_ *Index, err error) {
	m, err := library.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if len(m.Nights) == 0 && m.Config == nil {
		return nil, fmt.Errorf("%w in %s: it has no night yet", library.ErrNone, dir)
	}
	x := &Index{dir: dir, limit: o.Limit, log: o.Log, reading: o.Reading, release: func() error { return nil }}
	if x.limit <= 0 {
		x.limit = 10
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	if x.config, err = config.Recorded(m.Config); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, library.ManifestFile), err)
	}
	if o.Distance >= 0 {
		x.config.Match.Distance = o.Distance
	}
	if err := x.config.Check(); err != nil {
		if o.Distance >= 0 {
			err = fmt.Errorf("%w: %w", ErrDistance, err)
		}
		return nil, err
	}
	settings, err := method.LibrarySettings(x.config)
	if err != nil {
		return nil, fmt.Errorf("the library's settings name a file that cannot be read: %w: put it back there", err)
	}
	if err := library.CompareSettings(m.Settings, settings); err != nil {
		return nil, err
	}
	x.job = &engine.Job{Config: x.config}
	if x.job.Analyzer, x.release, err = method.NewAnalyzer(x.config.Features); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	if x.named, err = method.Templates(x.config.Features); err != nil {
		return nil, err
	}
	if err := x.openStore(dir, m.Bits, o); err != nil {
		return nil, err
	}
	_, err = x.Refresh(ctx)
	return x, err
}

// openStore opens the store in the requested layout or, with o.Tables 0, in the one it
// has.
func (x *Index) openStore(dir string, bits int, o Options) error {
	all, err := layouts(bits)
	if err != nil {
		return err
	}
	schema := schemaOf(all[0])
	for _, l := range all[1:] {
		schema.Or = append(schema.Or, schemaOf(l))
	}
	if o.Tables != 0 {
		i := slices.IndexFunc(all, func(l *simhash.Layout) bool { return l.Tables() == o.Tables })
		if i < 0 {
			return fmt.Errorf("%d: %w", o.Tables, ErrTables)
		}
		schema = schemaOf(all[i])
	}
	open := o.Store
	if open == nil {
		open = func(dir string, schema lookup.Schema) (lookup.Store, error) {
			return sorted.Open(filepath.Join(dir, library.Index), schema, sorted.Options{})
		}
	}
	if x.store, err = open(dir, schema); err != nil {
		return err
	}
	chosen := 1 + slices.IndexFunc(all, func(l *simhash.Layout) bool { return schemaOf(l).Equal(x.store.Schema()) })
	x.layout, x.reaches = all[chosen-1], reachesOf(method.Rule(x.config.Match), chosen)
	return nil
}

// reachesOf returns the reaches for each distance at which the rule may look, in the
// layout whose keys are so many segments.
func reachesOf(rule mapper.Rule, chosen int) [][]int {
	reaches := make([][]int, rule.K+1)
	for distance := rule.Farthest(math.MaxUint32); distance <= rule.K; distance++ {
		reaches[distance] = lookup.Reaches(tableDistance+chosen, chosen, distance)
	}
	return reaches
}

// Close closes the store.
func (x *Index) Close() error {
	err := x.release()
	if x.store != nil {
		err = errors.Join(err, x.store.Close())
	}
	return err
}

// stored is the rule whose tables every store has, whichever of them the library's
// settings use.
var stored = mapper.Rule{Bands: true, ShortTexts: true}

// schemaOf returns the store's schema: the layout's segment tables, then storedTables.
func schemaOf(l *simhash.Layout) lookup.Schema {
	s := lookup.Schema{Bits: l.Bits()}
	for t := range l.Tables() {
		s.Tables = append(s.Tables, lookup.Table{Width: l.KeyBits(t), Prints: true})
	}
	for range storedTables() {
		s.Tables = append(s.Tables, lookup.Table{Width: mapper.ValueBits})
	}
	return s
}

// storedTables returns the tables of mapper.Tables that a store has.
func storedTables() (of []mapper.Table) {
	for _, t := range mapper.Tables {
		if t.Asked(&stored) {
			of = append(of, t)
		}
	}
	return of
}

// keys makes the keys of documents, for one goroutine at a time.
type keys struct {
	layout *simhash.Layout
	all    *mapper.KeyEmitter
	keys   []lookup.Key
}

func (x *Index) newKeys() *keys {
	return &keys{layout: x.layout, all: mapper.NewKeyEmitter(nil, stored)}
}

// of returns the keys of a document, valid until the next call.
func (k *keys) of(v *data.View) []lookup.Key {
	k.keys = k.keys[:0]
	table := k.layout.Tables()
	for t := 0; v.Normal && t < table; t++ {
		key, _ := k.layout.Key(t, simhash.Fingerprint{Hi: v.Hi, Lo: v.Lo})
		k.keys = append(k.keys, lookup.Key{Table: t, Value: uint32(key.Value())})
	}
	for t := range mapper.Tables {
		if !mapper.Tables[t].Asked(&stored) {
			continue
		}
		for _, value := range k.all.Values(t, v) {
			k.keys = append(k.keys, lookup.Key{Table: table, Value: uint32(value)})
		}
		table++
	}
	return k.keys
}

// partOf returns the name of the store's part for a file of the library. The name
// contains the file's hash, because a library restored from a backup may reuse a
// file name for other content.
func partOf(f library.File) string {
	return strings.TrimSuffix(path.Base(f.Name), ".parquet") + "-" + f.SHA256[:min(len(f.SHA256), 16)]
}

// Refresh brings the store up to date with the library, and reports whether the
// library had changed. Meanwhile Find goes on answering from the old parts, without
// documents that have been deleted, expired or replaced. Refresh locks the library,
// and so may wait for another process, only if it has files that the store lacks.
func (x *Index) Refresh(ctx context.Context) (changed bool, err error) {
	x.refreshing.Lock()
	defer x.refreshing.Unlock()
	now, err := x.look()
	if err != nil {
		return false, err
	}
	have, err := x.store.Parts(ctx)
	if err != nil {
		return false, err
	}
	m := now.Manifest()
	if x.Manifest() == m && !x.lacks(have) {
		return false, nil
	}
	if slices.ContainsFunc(m.Files, func(f library.File) bool { return m.IsDocuments(f.Name) && !slices.Contains(have, partOf(f)) }) {
		if now, err = x.index(ctx, have); err != nil {
			return false, err
		}
		m = now.Manifest()
	}
	files := map[string]string{}
	for _, f := range m.Files {
		if m.IsDocuments(f.Name) {
			files[partOf(f)] = f.Name
		}
	}
	learned, err := method.LibraryTemplates(now.Library)
	if err != nil {
		return false, err
	}
	x.mu.Lock()
	x.job = &engine.Job{Config: x.config, Analyzer: x.job.Analyzer, Templates: cmp.Or(x.named, learned)}
	x.manifest, x.files, x.parts = m, files, slices.Sorted(maps.Keys(files))
	x.mu.Unlock()
	for _, part := range have {
		if _, ok := files[part]; !ok {
			if err := x.store.Drop(ctx, part); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// errLacking is returned while the store lacks parts that it had before. That happens
// when a server that keeps them in memory is restarted.
var errLacking = errors.New("the index has lost files of the library: it is made again")

// lacks reports whether any part that look-ups use is not among have.
func (x *Index) lacks(have []string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, part := range x.parts {
		if !slices.Contains(have, part) {
			return true
		}
	}
	return false
}

// index puts the files that the store lacks into it, with the library locked for
// reading, and returns the library that the store then has.
func (x *Index) index(ctx context.Context, have []string) (now *current, err error) {
	l, err := library.Open(ctx, x.dir, library.Options{Version: version.Version, Reading: x.reading, Waiting: func(holders string, waited time.Duration) {
		x.log.Warn("another neardup has the library: waiting for it", "library", x.dir, "held", holders, "waited", waited)
	}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	now, err = x.look() // under the lock it cannot change any more
	if err != nil {
		return nil, err
	}
	m := now.Manifest()
	for _, f := range m.Files { // in order of name
		part := partOf(f)
		if !m.IsDocuments(f.Name) || slices.Contains(have, part) {
			continue
		}
		began := time.Now()
		if err := x.store.Put(ctx, part, x.entries(ctx, l, f)); err != nil {
			return nil, err
		}
		x.log.Info("a file of the library can be looked up", "file", f.Name, "rows", f.Rows, "seconds", time.Since(began).Seconds())
	}
	return now, nil
}

// looks is how often look tries to read the manifest and the files that it names.
// A try fails if another process changes the library in between.
const looks = 5

// look returns the library as it is now. It reads the manifest only if its file has
// changed since the last call. With an error it also returns the library as last
// read, nil if there was none.
func (x *Index) look() (*current, error) {
	path := filepath.Join(x.dir, library.ManifestFile)
	have := x.current.Load()
	info, err := os.Stat(path)
	if err == nil && have != nil && sameFile(info, have.info) {
		return have, nil
	}
	x.looking.Lock()
	defer x.looking.Unlock()
	have = x.current.Load()
	for range looks {
		// Stat comes before reading: if the file is replaced in between, the next
		// call notices.
		if info, err = os.Stat(path); err == nil && have != nil && sameFile(info, have.info) {
			return have, nil
		}
		now := &current{info: info}
		if now.Library, err = library.Attach(x.dir, -1); err == nil && info != nil {
			x.current.Store(now)
			return now, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s: it is replaced again and again: ask again", path)
	}
	return have, err
}

func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// entries returns a function that yields the documents of a file of the library,
// without deleted ones, as the store's Put takes them.
func (x *Index) entries(ctx context.Context, l *library.Library, file library.File) func(yield func(*lookup.Entry) error) error {
	return func(yield func(*lookup.Entry) error) error {
		k := x.newKeys()
		var e lookup.Entry
		var v data.View
		return l.Stream(ctx, library.StreamOptions{Splits: []library.Split{{File: file.Name, Rows: file.Rows}}, Workers: 1}, func(_ int, b *library.Batch) error {
			for i := range b.Rows {
				row := &b.Rows[i]
				viewOf(row, &v)
				e = lookup.Entry{
					Row: b.Numbers[i], Keys: k.of(&v), ID: row.DocID, Hi: row.Hi, Lo: row.Lo, Normal: v.Normal, Length: v.Length,
					Sketch: row.Sketch, Letters: row.Letters, FirstSeen: []byte(row.FirstSeen), Cluster: row.Cluster,
				}
				if err := yield(&e); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func viewOf(row *data.LibraryRow, v *data.View) {
	*v = data.View{Hi: row.Hi, Lo: row.Lo, Length: uint32(max(row.Length, 0)), Normal: row.LengthClass == simhash.LengthNormal, Letters: row.Letters}
	copy(v.Sketch[:], row.Sketch)
}

// Manifest returns the manifest that the store's parts belong to.
func (x *Index) Manifest() *library.Manifest {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.manifest
}

// Answer is what the library knows of a page.
type Answer struct {
	Known       bool    `json:"known"`        // Matches is not empty
	LengthClass string  `json:"length_class"` // of the page: normal, short, empty
	Length      int     `json:"length"`
	Fingerprint string  `json:"fingerprint"` // hexadecimal
	Matches     []Match `json:"matches"`     // the best first
	Nights      int     `json:"nights"`      // of the library
	Documents   int64   `json:"documents"`   // of the library, and pages added since
	Tables      int     `json:"tables"`      // segment tables of the index
	Values      int     `json:"values"`      // looked up in those tables, summed over the parts
	Candidates  int     `json:"candidates"`  // fingerprints that were compared
}

// Match is a document of the library that the page is a near-duplicate of.
type Match struct {
	ID         string   `json:"id"`
	Night      string   `json:"night"`      // the earliest night in which it has this distance
	FirstSeen  string   `json:"first_seen"` // the night in which the library first had the id
	LastSeen   string   `json:"last_seen"`  // the latest night in which it matches
	Nights     int      `json:"nights"`     // number of nights in which it matches
	Distance   int      `json:"distance"`
	Similarity float64  `json:"similarity"`         // 1 - distance / bits
	Estimate   *float64 `json:"estimate,omitempty"` // estimated Jaccard similarity of the texts; nil without sketches
	Verdict    string   `json:"verdict"`            // why it is a match
	Cluster    string   `json:"cluster,omitempty"`  // as it was when the night was added
}

// largeText is the size of a text in bytes from which the Fingerprinter is not kept
// for reuse, since it has grown large buffers.
const largeText = 1 << 20

// Find fingerprints the document as the library's runs do, and returns its matches, the
// nearest first, at most Options.Limit. An id that matches in several nights is one
// match: that of the smallest distance, and of equal distances the earliest.
func (x *Index) Find(ctx context.Context, doc *data.Document) (*Answer, error) {
	p, err := x.fingerprint(doc)
	if err != nil {
		return nil, err
	}
	return x.find(ctx, &p.view, p.row.LengthClass)
}

// fingerprinted is a page with its fingerprint and view, made as in a run.
type fingerprinted struct {
	row  data.FingerprintRow // its id and title are the document's
	view data.View
}

// fingerprint makes the page's fingerprint and view. It is safe for concurrent use.
func (x *Index) fingerprint(doc *data.Document) (p fingerprinted, err error) {
	x.mu.RLock()
	job := x.job
	x.mu.RUnlock()
	f := job.Fingerprinter()
	err = parallel.Guard(func() error {
		f.Fingerprint(doc, "", &p.row)
		return nil
	})
	if err != nil { // after a panic f may be in any state, and is not reused
		return p, err
	}
	if len(doc.Text) < largeText { // else its buffers would stay
		defer job.Release(f)
	}
	mapper.View(&p.row, &p.view)
	return p, nil
}

// find returns the matches of a page with that view and length class, in the library
// and among the pages added since. If pages became a night between the two searches,
// it starts over, so that they are neither missed nor counted twice.
func (x *Index) find(ctx context.Context, v *data.View, lane string) (*Answer, error) {
	with := x.takeTools()
	defer x.tools.Put(with)
	for {
		since := x.added.generation()
		q := x.question(v, lane, with)
		m, err := q.library(ctx)
		if err != nil {
			return nil, err
		}
		if x.added.among(q, m, since) {
			return q.answered(), nil
		}
	}
}

// question is one look-up under way: the page, the query, and the matches so far. It
// belongs to one goroutine.
type question struct {
	index    *Index
	rule     mapper.Rule
	verifier *mapper.Verifier
	view     *data.View
	query    lookup.Query
	now      *current // the library when it was asked
	id       []byte   // of a page that is to be added
	again    bool     // a night of added pages got this very page less than sentAgain ago
	answer   *Answer
	byID     map[string]int
}

// question starts a look-up of a page. It uses with until the caller replaces its
// verifier.
func (x *Index) question(v *data.View, lane string, with *tools) *question {
	rule := method.Rule(x.config.Match)
	distance := rule.Farthest(v.Length)
	q := &question{
		index: x, rule: rule, verifier: with.verifier, view: v, byID: map[string]int{},
		query:  lookup.Query{Hi: v.Hi, Lo: v.Lo, Distance: distance, All: v.Normal, Work: new(lookup.Work)},
		answer: &Answer{LengthClass: lane, Length: int(v.Length), Fingerprint: simhash.Fingerprint{Hi: v.Hi, Lo: v.Lo}.Hex(x.layout.Bits()), Matches: []Match{}},
	}
	reaches, others := x.reaches[distance], storedTables()
	for _, key := range with.keys.of(v) {
		reach := -1
		switch tables := x.layout.Tables(); {
		case key.Table < tables:
			reach = reaches[key.Table]
		case others[key.Table-tables].Asked(&rule):
			reach = 0
		}
		if reach >= 0 {
			q.query.Keys, q.query.Reach = append(q.query.Keys, key), append(q.query.Reach, reach)
		}
	}
	return q
}

// library adds the library's matches to the answer, and returns the manifest that
// the store's parts belonged to.
func (q *question) library(ctx context.Context) (*library.Manifest, error) {
	x := q.index
	m, files, hits, err := x.near(ctx, &q.query)
	if err != nil {
		return nil, err
	}
	if q.now, err = x.look(); q.now == nil { // else a manifest that cannot be read is for Refresh to tell
		return nil, err
	}
	q.answer.Nights, q.answer.Documents = len(q.now.Manifest().Nights), q.now.Manifest().Rows()
	q.answer.Tables, q.answer.Values, q.answer.Candidates = x.layout.Tables(), q.query.Work.Values, q.query.Work.Candidates
	for i := range hits {
		h := &hits[i]
		file, ok := files[h.Part]
		if !ok {
			continue
		}
		night, ok := m.NightOf(file)
		if !ok || !q.now.counts(m, night.Name, file, h) {
			continue
		}
		found, same := q.judgeHit(h)
		if same && len(q.id) > 0 && bytes.Equal(h.ID, q.id) && addedSince(&night, time.Now().Add(-sentAgain)) {
			q.again = q.again || q.view.Hi == h.Hi && q.view.Lo == h.Lo && q.view.Length == h.Length && bytes.Equal(q.view.Letters, h.Letters)
		}
		if same {
			found.Night = night.Name
			q.take(found)
		}
	}
	return m, nil
}

// answered sorts and cuts the matches, and returns the complete answer.
func (q *question) answered() *Answer {
	a := q.answer
	slices.SortFunc(a.Matches, func(p, q Match) int {
		return cmp.Or(cmp.Compare(p.Distance, q.Distance), strings.Compare(p.Night, q.Night), strings.Compare(p.ID, q.ID))
	})
	a.Matches = a.Matches[:min(len(a.Matches), q.index.limit)]
	a.Known = len(a.Matches) > 0
	return a
}

// near queries the store, and returns the hits with the manifest and the files that
// the store's parts belong to. It answers from all of the parts or not at all:
// errLacking if the store has lost some.
func (x *Index) near(ctx context.Context, q *lookup.Query) (m *library.Manifest, files map[string]string, hits []lookup.Hit, err error) {
	for {
		x.mu.RLock()
		m, files, q.Parts = x.manifest, x.files, x.parts
		x.mu.RUnlock()
		hits, err = x.store.Near(ctx, q)
		switch {
		case !errors.Is(err, lookup.ErrParts):
			return m, files, hits, err
		case x.Manifest() == m: // else Refresh has dropped parts meanwhile
			return nil, nil, nil, errLacking
		}
	}
}

// counts reports whether a hit from a night of the manifest m is still in the library
// c: neither the document was deleted, nor the night expired or replaced since.
func (c *current) counts(m *library.Manifest, night, file string, h *lookup.Hit) bool {
	f, _ := m.File(file)
	if c.Hides(h.ID, f.Deleted) {
		return false
	}
	if c.Manifest() == m {
		return true
	}
	if is, ok := c.Manifest().File(file); ok && is.SHA256 != f.SHA256 { // restored from a backup, then added again
		return false
	}
	was, _ := m.Night(night)
	is, ok := c.Manifest().Night(night)
	return ok && is.Run == was.Run && is.Added.Equal(was.Added)
}

// judgeHit gives the verdict on a hit of the store; same: it is a match.
func (q *question) judgeHit(h *lookup.Hit) (found Match, same bool) {
	o := data.View{Hi: h.Hi, Lo: h.Lo, Length: h.Length, Normal: h.Normal, Letters: h.Letters}
	copy(o.Sketch[:], h.Sketch)
	found, same = q.judge(&o)
	found.ID, found.FirstSeen, found.Cluster = string(h.ID), string(h.FirstSeen), string(h.Cluster)
	return found, same
}

// judge gives the verdict on the page and a document with the view o; same: it is a
// match. The match has no id and no nights yet.
func (q *question) judge(o *data.View) (found Match, same bool) {
	found.Distance = q.query.Apart(o.Hi, o.Lo)
	found.Similarity = 1 - float64(found.Distance)/float64(q.index.layout.Bits())
	if !q.rule.Candidate(q.view, o) {
		return found, false
	}
	e := q.verifier.Estimated(q.view, o) // the text is gone
	if q.rule.Estimates() {
		similarity := mapper.EstimatedJaccard(e)
		found.Estimate = &similarity
	}
	found.Verdict = e.Reason.String()
	return found, e.Reason != data.NotTheSame
}

// take adds a match to the answer, or merges it with the match of the same id.
func (q *question) take(found Match) {
	a := q.answer
	found.LastSeen, found.Nights = found.Night, 1
	at, ok := q.byID[found.ID]
	if !ok {
		q.byID[found.ID] = len(a.Matches)
		a.Matches = append(a.Matches, found)
		return
	}
	have := &a.Matches[at]
	first, last, nights := min(have.FirstSeen, found.FirstSeen), max(have.LastSeen, found.LastSeen), have.Nights+1
	if cmp.Or(cmp.Compare(found.Distance, have.Distance), strings.Compare(found.Night, have.Night)) < 0 {
		*have = found
	}
	have.FirstSeen, have.LastSeen, have.Nights = first, last, nights
}
