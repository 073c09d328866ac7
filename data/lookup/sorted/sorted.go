// Package sorted is a lookup store in files, without a server. Each part is one file
// that is mapped into memory and never changes:
//
//	magic, name of the part
//	documents       each with its fingerprint and texts
//	offsets         where each document starts
//	for each table
//	    tops        by the leading bits of a value: where its postings start
//	    postings    value and document, 4 bytes each, ascending
//	    prints      the postings' fingerprints, in tables that have them (see beside)
//	directory       where the tables stand; a checksum of each block of blockBytes
//
// A look-up of a value finds a range of postings by the leading bits, searches it
// by bisection, and compares the fingerprints beside. So it touches a few pages of
// each part. A block's checksum is compared when the block is first read.
package sorted

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

type store struct {
	dir    string
	schema lookup.Schema
	fs     data.FS

	// probeCost is how many fingerprints can be compared in the time that looking
	// up one value in a part takes.
	probeCost int

	mu    sync.RWMutex
	parts []*part // in order of name
}

// Options of a store. The zero value is the default; tests and measurements set
// others.
type Options struct {
	FS        data.FS // what the parts are written with; nil: data.OS
	ProbeCost int     // fingerprints compared in the time of one look-up; 0: as measured
}

// measuredProbeCost is from job/docs/benchmarks/history/2026-11-21/one-page.md.
const measuredProbeCost = 100

const extension = ".idx"

// magic begins a part's file and changes with the format. The part's name follows,
// so that a file which was renamed is not taken for another part.
const magic = "ndlookup5"

// head is what a part's file begins with.
func head(name string) []byte {
	b := binary.LittleEndian.AppendUint16([]byte(magic), uint16(len(name))) //nolint:gosec // a file's name is short
	return append(b, name...)
}

// blockBytes is the size of the blocks with a checksum: a page of memory, which the
// system reads as a whole anyway.
const blockBytes = 4 << 10

// topBits is how many leading bits of a value the tops of a table with so many
// postings are indexed by.
func topBits(t lookup.Table, postings uint64) int {
	return min(t.Width, bits.Len64(postings), 16)
}

// beside reports whether table i, with so many postings, stores their fingerprints
// beside them. With fewer postings than possible values most values have none, and
// the few candidates' fingerprints are read from their documents instead. The first
// table with Prints always stores them: scan reads all fingerprints there.
func beside(s lookup.Schema, i int, postings uint64) bool {
	t := s.Tables[i]
	first := slices.IndexFunc(s.Tables, func(t lookup.Table) bool { return t.Prints })
	return t.Prints && (i == first || postings>>t.Width > 0)
}

// Open opens the store in the folder at dir, and makes the folder if it is missing.
// It removes parts of another format, or of a schema that is not the wanted one or
// one of its alternatives: a store is derived data and can be made again.
func Open(dir string, schema lookup.Schema, o Options) (lookup.Store, error) {
	if err := schema.Check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	s := &store{dir: dir, schema: schema, fs: o.FS, probeCost: o.ProbeCost}
	if s.fs == nil {
		s.fs = data.OS
	}
	if s.probeCost == 0 {
		s.probeCost = measuredProbeCost
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	if len(schema.Or) > 0 {
		s.schema = schema.Adopt(existing(dir, entries, append(schema.Or[:len(schema.Or):len(schema.Or)], schema)))
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		path := filepath.Join(dir, e.Name())
		if !ok {
			removeLeft(path)
			continue
		}
		p, err := openPart(path, name, s.schema)
		if errors.Is(err, errSchema) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, errors.Join(fmt.Errorf("lookup: %w", err), s.Close())
			}
			continue
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.parts = append(s.parts, p)
	}
	return s, nil
}

// existing returns the first of the schemas that a file in the folder has; the zero
// Schema if there is none.
func existing(dir string, entries []fs.DirEntry, schemas []lookup.Schema) lookup.Schema {
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if !ok {
			continue
		}
		for _, s := range schemas {
			if p, err := openPart(filepath.Join(dir, e.Name()), name, s); err == nil {
				_ = p.close() // nothing was written
				return s
			}
		}
	}
	return lookup.Schema{}
}

// left is the age from which a temporary file is taken for abandoned. Younger ones
// may belong to another process that is writing a part.
const left = 24 * time.Hour

// removeLeft removes the file at path if it is a temporary one of a killed process.
func removeLeft(path string) {
	if !data.IsTemporary(path) {
		return
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > left {
		_ = os.Remove(path) // on an error the next Open tries again
	}
}

// Close unmaps the files. It waits for look-ups that are running.
func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.close())
	}
	s.parts = nil
	return errors.Join(errs...)
}

func (s *store) Schema() lookup.Schema { return s.schema }

func (s *store) Parts(context.Context) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]string, len(s.parts))
	for i, p := range s.parts {
		names[i] = p.name
	}
	return names, nil
}

func (s *store) path(name string) (string, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("lookup: part %q: a name must do as a file's", name)
	}
	return filepath.Join(s.dir, name+extension), nil
}

func (s *store) Drop(_ context.Context, name string) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.find(name)
	if !ok {
		return nil
	}
	p := s.parts[at]
	s.parts = slices.Delete(s.parts, at, at+1)
	err = s.fs.Remove(path)
	if errors.Is(err, fs.ErrNotExist) { // another process was faster
		err = nil
	}
	if err := errors.Join(p.close(), err); err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	return nil
}

func (s *store) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.parts, name, func(p *part, name string) int { return strings.Compare(p.name, name) })
}

// Put writes a part. It needs memory of 8 bytes for each key of the documents, and of
// 24 bytes for each document. If the folder is gone, it is made again.
func (s *store) Put(ctx context.Context, name string, each func(yield func(*lookup.Entry) error) error) (err error) {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	f, err := data.CreateAtomicIn(s.fs, path)
	if err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	defer func() { err = errors.Join(err, f.Abort()) }()
	w := &writer{out: f}
	w.bytes(head(name))
	w.align()

	tables := make([][]uint64, len(s.schema.Tables))
	var offsets, lo, hi []uint64
	var packed []byte
	last := int64(-1)
	err = each(func(e *lookup.Entry) error {
		if len(offsets)&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := stored.CheckEntry(e, s.schema, last); err != nil {
			return fmt.Errorf("part %s: %w", name, err)
		}
		if len(offsets) >= math.MaxUint32-1 {
			return fmt.Errorf("lookup: part %s: more than %d documents", name, len(offsets))
		}
		last = e.Row
		for _, k := range e.Keys {
			tables[k.Table] = append(tables[k.Table], uint64(k.Value)<<32|uint64(len(offsets)))
		}
		offsets, lo, hi = append(offsets, w.at), append(lo, e.Lo), append(hi, e.Hi)
		packed = stored.AppendEntry(packed[:0], e)
		w.bytes(packed)
		return w.err
	})
	if err != nil {
		return err
	}
	offsets = append(offsets, w.at)
	w.align()
	directory := []uint64{uint64(s.schema.Bits), uint64(len(tables)), uint64(len(offsets) - 1), w.at}
	w.uint64s(offsets)
	for i, t := range s.schema.Tables {
		postings := tables[i]
		tables[i] = nil
		slices.Sort(postings)
		directory = append(directory, uint64(t.Width), flag(t.Prints), uint64(len(postings)), w.at)
		top := topBits(t, uint64(len(postings)))
		tops := make([]uint64, 1<<top+1)
		for _, p := range postings {
			tops[p>>32>>(t.Width-top)+1]++
		}
		for j := range tops[1:] {
			tops[j+1] += tops[j]
		}
		w.uint64s(tops)
		w.uint64s(postings)
		if beside(s.schema, i, uint64(len(postings))) {
			w.each(postings, lo)
			if s.schema.Bits == 128 {
				w.each(postings, hi)
			}
		}
	}
	w.end(directory)
	if w.err != nil {
		return fmt.Errorf("lookup: %w", w.err)
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	return s.show(path, name)
}

// end writes what follows the last block: the directory, the blocks' checksums, a
// checksum of both, and their length.
func (w *writer) end(directory []uint64) {
	w.endBlock()
	var tail []byte
	for _, v := range append(directory, w.sums...) {
		tail = binary.LittleEndian.AppendUint64(tail, v)
	}
	tail = binary.LittleEndian.AppendUint64(tail, xxh3.Hash(tail))
	tail = binary.LittleEndian.AppendUint64(tail, uint64(len(tail)))
	w.bytes(tail)
}

// show opens a part that was written and puts it among the store's, in the place of
// the one of that name.
func (s *store) show(path, name string) error {
	p, err := openPart(path, name, s.schema)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, there := s.find(name)
	if there {
		err = s.parts[at].close()
		s.parts[at] = p
		return err
	}
	s.parts = slices.Insert(s.parts, at, p)
	return nil
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// writer counts the bytes it writes, makes a checksum of each block and keeps the
// first error.
type writer struct {
	out   *data.AtomicFile
	at    uint64
	block []byte // the bytes of the last block
	sums  []uint64
	err   error
}

func (w *writer) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
	w.at += uint64(len(b))
	for len(b) > 0 {
		n := min(len(b), blockBytes-len(w.block))
		w.block = append(w.block, b[:n]...)
		if b = b[n:]; len(w.block) == blockBytes {
			w.endBlock()
		}
	}
}

func (w *writer) endBlock() {
	if len(w.block) > 0 {
		w.sums = append(w.sums, xxh3.Hash(w.block))
		w.block = w.block[:0]
	}
}

// align writes zeros up to a multiple of eight bytes.
func (w *writer) align() {
	w.bytes(make([]byte, -w.at&7))
}

func (w *writer) uint64s(all []uint64) {
	var b [8]byte
	for _, v := range all {
		binary.LittleEndian.PutUint64(b[:], v)
		w.bytes(b[:])
	}
}

// each writes, for each posting, the number that of has for its document.
func (w *writer) each(postings, of []uint64) {
	for _, p := range postings {
		w.uint64s(of[uint32(p):][:1])
	}
}

// part is a mapped file.
type part struct {
	path, name string
	mapped     []byte
	end        uintptr         // of the bytes that have checksums
	sums       []byte          // checksums of their blocks, 8 bytes each
	sound      []atomic.Uint32 // a bit for each block whose checksum was found right
	offsets    []uint64
	tables     []table
}

type table struct {
	lookup.Table
	top      int      // leading bits of a value that tops is indexed by
	tops     []uint64 // by those bits: number of the first posting; one more ends the last
	postings []uint64 // ascending: the value in the upper 32 bits, the document's number in the lower
	lo, hi   []uint64 // the postings' fingerprints, if stored (see beside); hi only for 128 bits
}

var errSchema = errors.New("not a part of that name and schema, or not whole")

// openPart maps a file. errSchema: the file is incomplete, or not the part of that
// name and schema.
func openPart(path, name string, schema lookup.Schema) (_ *part, err error) {
	mapped, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	p := &part{path: path, name: name, mapped: mapped}
	if !p.read(schema) {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, errSchema), p.close())
	}
	return p, nil
}

// read finds the tables in the file by its directory, and reports whether they are
// the schema's and all of them are within the file.
func (p *part) read(schema lookup.Schema) bool {
	b := p.mapped
	begins := head(p.name)
	if len(b) < len(begins)+8 || !bytes.Equal(b[:len(begins)], begins) {
		return false
	}
	size := binary.LittleEndian.Uint64(b[len(b)-8:])
	if size < 40 || size > uint64(len(b)-8) || size%8 != 0 {
		return false
	}
	tail := b[uint64(len(b)-8)-size : len(b)-8]
	end := uint64(len(b)-8) - size
	sum := binary.LittleEndian.Uint64(tail[len(tail)-8:])
	tail = tail[:len(tail)-8]
	if xxh3.Hash(tail) != sum {
		return false
	}
	next := func() uint64 {
		v := binary.LittleEndian.Uint64(tail)
		tail = tail[8:]
		return v
	}
	blocks := int((end + blockBytes - 1) / blockBytes)
	if len(tail) != 32+32*len(schema.Tables)+8*blocks || next() != uint64(schema.Bits) || next() != uint64(len(schema.Tables)) {
		return false
	}
	p.end, p.sums, p.sound = uintptr(end), tail[len(tail)-8*blocks:], make([]atomic.Uint32, blocks/32+1)
	n := next()
	at := next()
	take := func(n uint64) []uint64 {
		if at > end || at%8 != 0 || n > (end-at)/8 {
			at = math.MaxUint64
			return nil
		}
		from := at
		at += 8 * n
		return view(b, from, n)
	}
	if n > math.MaxUint32 {
		return false
	}
	p.offsets = take(n + 1)
	for i := range schema.Tables {
		t := table{Table: lookup.Table{Width: int(next()), Prints: next() == 1}}
		count := next()
		at = next()
		if t.Table != schema.Tables[i] || p.offsets == nil {
			return false
		}
		t.top = topBits(t.Table, count)
		t.tops, t.postings = take(1<<t.top+1), take(count)
		if beside(schema, i, count) {
			t.lo = take(count)
			if schema.Bits == 128 {
				t.hi = take(count)
			}
		}
		if at == math.MaxUint64 {
			return false
		}
		p.tables = append(p.tables, t)
	}
	return true
}

// view returns n numbers of b, from the offset at on. The caller has checked that they
// are within b and aligned.
func view(b []byte, at, n uint64) []uint64 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[at])), n)
}

func (p *part) close() error { return unmap(p.mapped) }

// read returns numbers[from:to] of a part after it has compared their blocks'
// checksums. It panics with ErrEntry if one is wrong, and as slicing does if damage
// led to an index out of range; Near recovers both.
func read[T any](p *part, numbers []T, from, to int) []T {
	numbers = numbers[from:to]
	if len(numbers) > 0 {
		at := uintptr(unsafe.Pointer(&numbers[0])) - uintptr(unsafe.Pointer(&p.mapped[0]))
		p.check(at, at+uintptr(len(numbers))*unsafe.Sizeof(numbers[0]))
	}
	return numbers
}

// check compares the checksums of the blocks that have a byte in [from, to), each
// block once in the life of the part. It panics with ErrEntry if one is wrong.
func (p *part) check(from, to uintptr) {
	for b := from / blockBytes; b*blockBytes < to; b++ {
		if p.sound[b/32].Load()>>(b%32)&1 == 1 {
			continue
		}
		block := p.mapped[b*blockBytes : min((b+1)*blockBytes, p.end)]
		if xxh3.Hash(block) != binary.LittleEndian.Uint64(p.sums[8*b:]) {
			panic(fmt.Errorf("%s, offset %d: %w", p.path, b*blockBytes, stored.ErrEntry))
		}
		p.sound[b/32].Or(1 << (b % 32))
	}
}

// span returns the range of the table's postings with a value.
func (p *part) span(t *table, value uint32) (from, to int) {
	at := int(value >> (t.Width - t.top))
	tops := read(p, t.tops, at, at+2)
	from, to = int(tops[0]), int(tops[1])
	if t.Width == t.top {
		return from, to
	}
	posting := func(i int) uint64 { return read(p, t.postings, i, i+1)[0] }
	if to-from <= blockBytes/8 { // they are mostly few
		read(p, t.postings, from, to)
		posting = func(i int) uint64 { return t.postings[i] }
	}
	from += sort.Search(to-from, func(i int) bool { return posting(from+i)>>32 >= uint64(value) })
	if from == to || posting(from)>>32 != uint64(value) {
		return from, from
	}
	return from, from + sort.Search(to-from, func(i int) bool { return posting(from+i)>>32 > uint64(value) })
}

// near is a document that was found in a table.
type near struct {
	part     *part
	row      uint32
	distance int
}

// Near looks every key up in every part. For a query of All it compares all
// fingerprints of a part instead, where that is less work.
func (s *store) Near(ctx context.Context, q *lookup.Query) (hits []lookup.Hit, err error) {
	if err := q.Check(s.schema); err != nil {
		return nil, err
	}
	// Damage found by a checksum panics. A file that was truncated while it is
	// mapped causes a memory fault, which becomes a panic here.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		var fault runtime.Error
		if p := recover(); p != nil {
			switch e, _ := p.(error); {
			case errors.Is(e, stored.ErrEntry):
				hits, err = nil, fmt.Errorf("lookup: %w: remove the file, and the next start makes it again", e)
			case errors.As(e, &fault):
				hits, err = nil, fmt.Errorf("lookup: %s: %w: remove the folder, and the next start makes it again (%w)", s.dir, stored.ErrEntry, fault)
			default:
				panic(p)
			}
		}
	}()
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range q.Parts {
		if _, ok := s.find(name); !ok {
			return nil, fmt.Errorf("lookup: part %s: %w", name, lookup.ErrParts)
		}
	}
	var work lookup.Work
	var found []near // by their fingerprints
	var others []near
	for _, p := range s.parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scan := q.All && (q.Reach == nil || p.scans(q, s.probeCost))
		if scan {
			found = p.scan(q, found, &work)
		}
		for i, k := range q.Keys {
			t := &p.tables[k.Table]
			if !t.Prints {
				from, to := p.span(t, k.Value)
				for _, posting := range read(p, t.postings, from, min(to, from+lookup.Limit)) {
					others = append(others, near{p, uint32(posting), 0})
				}
				continue
			}
			if scan {
				continue
			}
			for value := range stored.Around(k.Value, t.Width, q.ReachOf(i)) {
				from, to := p.span(t, value)
				found = p.compare(q, t, from, to, found)
				work.Values++
				work.Candidates += to - from
			}
		}
	}
	if q.Work != nil {
		*q.Work = work
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.part.name, b.part.name), cmp.Compare(a.row, b.row))
	})
	found = slices.CompactFunc(found, func(a, b near) bool { return a.part == b.part && a.row == b.row })
	return s.hits(q, append(found[:min(len(found), lookup.Limit)], others...))
}

// hits reads the documents, each once, and sorts them as Near returns them.
func (s *store) hits(q *lookup.Query, all []near) ([]lookup.Hit, error) {
	hits := make([]lookup.Hit, 0, len(all))
	type place struct {
		part *part
		row  uint32
	}
	seen := make(map[place]bool, len(all))
	for _, n := range all {
		if seen[place{n.part, n.row}] {
			continue
		}
		seen[place{n.part, n.row}] = true
		h := lookup.Hit{Part: n.part.name}
		if err := n.part.entry(n.row, &h.Entry); err != nil {
			return nil, fmt.Errorf("%s: %w: remove the folder, and the next start makes it again", s.dir, err)
		}
		h.Distance = q.Apart(h.Hi, h.Lo)
		hits = append(hits, h)
	}
	slices.SortFunc(hits, stored.Compare)
	return hits, nil
}

// compare appends to found the documents of the table's postings from to to-1 whose
// fingerprints are within the query's distance.
func (p *part) compare(q *lookup.Query, t *table, from, to int, found []near) []near {
	if t.lo == nil {
		for _, posting := range read(p, t.postings, from, to) {
			hi, lo, err := stored.Fingerprint(p.document(uint32(posting)))
			if err != nil {
				panic(fmt.Errorf("%s: %w", p.path, err))
			}
			if d := q.Apart(hi, lo); d <= q.Distance {
				found = append(found, near{p, uint32(posting), d})
			}
		}
		return found
	}
	hi := t.hi
	if hi != nil {
		hi = read(p, hi, from, to)
	}
	for i, lo := range read(p, t.lo, from, to) {
		d := bits.OnesCount64(lo ^ q.Lo)
		if hi != nil {
			d += bits.OnesCount64(hi[i] ^ q.Hi)
		}
		if d <= q.Distance {
			found = append(found, near{p, uint32(read(p, t.postings, from+i, from+i+1)[0]), d})
		}
	}
	return found
}

// scans reports whether comparing all fingerprints of the part is less work than
// looking up the values within the keys' reach.
func (p *part) scans(q *lookup.Query, probeCost int) bool {
	all, work := 0, 0.0
	for i, k := range q.Keys {
		t := &p.tables[k.Table]
		if !t.Prints {
			continue
		}
		all = max(all, len(t.postings))
		values := float64(stored.Values(t.Width, q.ReachOf(i)))
		work += values * (float64(probeCost) + math.Ldexp(float64(len(t.postings)), -t.Width))
	}
	return work >= float64(all)
}

// scan compares all fingerprints: those of the first table with Prints.
func (p *part) scan(q *lookup.Query, found []near, work *lookup.Work) []near {
	for i := range p.tables {
		t := &p.tables[i]
		if !t.Prints {
			continue
		}
		work.Candidates += len(t.lo)
		return p.compare(q, t, 0, len(t.lo), found)
	}
	return found
}

// document returns a document's bytes, as AppendEntry wrote them; nil if there is none
// of that number.
func (p *part) document(row uint32) []byte {
	if uint64(row)+1 >= uint64(len(p.offsets)) {
		return nil
	}
	offsets := read(p, p.offsets, int(row), int(row)+2)
	from, to := offsets[0], offsets[1]
	if from > to || to > uint64(len(p.mapped)) {
		return nil
	}
	return read(p, p.mapped, int(from), int(to))
}

func (p *part) entry(row uint32, e *lookup.Entry) error {
	if _, err := stored.ParseEntry(p.document(row), e); err != nil {
		return fmt.Errorf("part %s: %w", p.name, err)
	}
	return nil
}
