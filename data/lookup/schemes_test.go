package lookup_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/hbase"
	"github.com/neardup/neardup/data/lookup/redis"
	"github.com/neardup/neardup/data/lookup/sorted"
)

// A scheme finds the documents within a distance of a fingerprint among made-up
// ones: how many it found, and what it took.
type scheme interface {
	find(print uint64, distance int) (found int, work lookup.Work, err error)
	size() int64 // in bytes; 0: a server's
}

// madeUp is the fingerprint of document i (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014).
func madeUp(i int) uint64 {
	x := uint64(i+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// variants yields all codes within 3 bits of one: 43,745 of 64 bits.
func variants(code uint64, yield func(uint64) bool) {
	for a := -1; a < 64; a++ {
		for b := -1; b < max(a, 0); b++ {
			for c := -1; c < max(b, 0); c++ {
				other := code
				for _, bit := range []int{a, b, c} {
					if bit >= 0 {
						other ^= 1 << bit
					}
				}
				if !yield(other) {
					return
				}
			}
		}
	}
}

// There are 1 + 64 + 2,016 + 41,664 codes within 3 bits, each once.
func TestVariants(t *testing.T) {
	const code = 0x0123456789abcdef
	seen := map[uint64]bool{}
	variants(code, func(other uint64) bool {
		if seen[other] || bits.OnesCount64(other^code) > 3 {
			t.Fatalf("%x comes twice, or is too far", other)
		}
		seen[other] = true
		return true
	})
	if len(seen) != 43_745 {
		t.Errorf("%d codes", len(seen))
	}
}

// probed keeps the fingerprints in order and looks every code around up.
type probed struct {
	prints []uint64
	tops   []uint32 // where those of the leading bits start
	shift  int
}

func newProbed(n int) *probed {
	p := &probed{prints: make([]uint64, n), shift: 64 - bits.Len(uint(n))}
	p.tops = make([]uint32, 1<<(64-p.shift)+1)
	for i := range p.prints {
		p.prints[i] = madeUp(i)
		p.tops[p.prints[i]>>p.shift+1]++
	}
	slices.Sort(p.prints)
	for i := range p.tops[1:] {
		p.tops[i+1] += p.tops[i]
	}
	return p
}

func (p *probed) size() int64 { return int64(8*len(p.prints) + 4*len(p.tops)) }

func (p *probed) find(print uint64, _ int) (found int, work lookup.Work, err error) {
	variants(print, func(code uint64) bool {
		work.Values++
		for _, have := range p.prints[p.tops[code>>p.shift]:p.tops[code>>p.shift+1]] {
			work.Candidates++
			if have == code {
				found++
			}
		}
		return true
	})
	return found, work, nil
}

// expanded keeps every code around each fingerprint, in a table of open
// addressing, and looks one up.
type expanded struct {
	codes     []uint64
	documents []uint32 // from 1 on; 0: the place is free
}

func newExpanded(n int) *expanded {
	places := 1 << bits.Len(uint(n*43_745*4/3))
	e := &expanded{make([]uint64, places), make([]uint32, places)}
	for i := range n {
		variants(madeUp(i), func(code uint64) bool {
			at := e.place(code)
			for e.documents[at] != 0 {
				at = (at + 1) & (places - 1)
			}
			e.codes[at], e.documents[at] = code, uint32(i+1)
			return true
		})
	}
	return e
}

func (e *expanded) place(code uint64) int {
	return int(code * 0x9e3779b97f4a7c15 >> (65 - bits.Len(uint(len(e.codes)))))
}

func (e *expanded) size() int64 { return int64(12 * len(e.codes)) }

func (e *expanded) find(print uint64, _ int) (found int, work lookup.Work, err error) {
	work.Values = 1
	for at := e.place(print); e.documents[at] != 0; at = (at + 1) & (len(e.codes) - 1) {
		work.Candidates++
		if e.codes[at] == print {
			found++
		}
	}
	return found, work, nil
}

// tabled is a store with the tables of m segments out of 3 + m.
type tabled struct {
	store lookup.Store
	m     int
	keys  func(dst []lookup.Key, hi, lo uint64) []lookup.Key
	bytes int64
}

func (s *tabled) size() int64 { return s.bytes }

func (s *tabled) find(print uint64, distance int) (found int, work lookup.Work, err error) {
	q := within(s.m, s.keys(nil, 0, print), 0, print, distance)
	hits, err := s.store.Near(context.Background(), &q)
	return len(hits), *q.Work, err
}

// fill puts made-up documents, in parts, until there are n.
func (s *tabled) fill(b *testing.B, n, size int) {
	b.Helper()
	ctx := context.Background()
	parts, err := s.store.Parts(ctx)
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	for first := len(parts) * size; first < n; first += size {
		err := s.store.Put(ctx, fmt.Sprintf("%05d", first/size), func(yield func(*lookup.Entry) error) error {
			e := lookup.Entry{Normal: true, Length: 1000}
			for i := first; i < min(first+size, n); i++ {
				e.Row, e.Lo = int64(i-first), madeUp(i)
				e.Keys = s.keys(e.Keys[:0], 0, e.Lo)
				e.ID = hex.AppendEncode(e.ID[:0], binary.BigEndian.AppendUint32(nil, uint32(i)))
				if err := yield(&e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d documents put in %v", n, time.Since(began).Round(time.Second))
}

// storeOf opens the store that the environment names, with documents in it.
func storeOf(b *testing.B, m, n int) *tabled {
	b.Helper()
	ctx := context.Background()
	tables, keys := segmentTables(b, 64, m)
	schema, name := lookup.Schema{Bits: 64, Tables: tables}, fmt.Sprintf("neardup-%d", len(tables))
	s := &tabled{m: m, keys: keys}
	var err error
	dir := ""
	if address := os.Getenv("NEARDUP_LOOKUP_REDIS"); address != "" {
		s.store, err = redis.Open(ctx, schema, redis.Options{Address: address, Prefix: name})
	} else if address := os.Getenv("NEARDUP_LOOKUP_HBASE"); address != "" {
		s.store, err = hbase.Open(ctx, schema, address, name)
	} else {
		if dir = os.Getenv("NEARDUP_LOOKUP_DIR"); dir == "" {
			dir = b.TempDir()
		}
		dir = filepath.Join(dir, name)
		s.store, err = sorted.Open(dir, schema, sorted.Options{ProbeCost: number("NEARDUP_LOOKUP_PROBE", 0)})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.store.Close(); err != nil {
			b.Error(err)
		}
	})
	s.fill(b, n, number("NEARDUP_LOOKUP_PART", 1_000_000))
	files, _ := filepath.Glob(filepath.Join(dir, "*.idx"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			s.bytes += info.Size()
		}
	}
	return s
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// BenchmarkSchemes measures what a look-up takes, by scheme, among
// NEARDUP_LOOKUP_SCALE made-up documents (a million; all variants are stored of
// NEARDUP_LOOKUP_VARIANTS, a thousand): half of the fingerprints are within the
// distance of a document's. The tables are those of a store: own files, in the
// folder NEARDUP_LOOKUP_DIR (else one that is removed), in parts of
// NEARDUP_LOOKUP_PART; or the Redis server at NEARDUP_LOOKUP_REDIS, or the gateway
// of HBase at NEARDUP_LOOKUP_HBASE.
func BenchmarkSchemes(b *testing.B) {
	n, few := number("NEARDUP_LOOKUP_SCALE", 1_000_000), number("NEARDUP_LOOKUP_VARIANTS", 1_000)
	b.Run("probe all codes", func(b *testing.B) { measure(b, newProbed(n), n, 3) })
	b.Run("store all codes", func(b *testing.B) { measure(b, newExpanded(few), few, 3) })
	for m, tables := range []int{1: 4, 2: 10, 3: 20} {
		if m == 0 {
			continue
		}
		b.Run(fmt.Sprintf("%d tables", tables), func(b *testing.B) {
			s := storeOf(b, m, n)
			for _, distance := range []int{3, 4, 6, 8} {
				b.Run(fmt.Sprintf("within %d", distance), func(b *testing.B) { measure(b, s, n, distance) })
			}
		})
	}
}

// measure looks up documents that are known and others in turns.
func measure(b *testing.B, s scheme, n, distance int) {
	rng := rand.New(rand.NewPCG(3, 3))
	var times []time.Duration
	var all lookup.Work
	hits := 0
	for i := 0; b.Loop(); i++ {
		print, known := rng.Uint64(), i%2 == 0
		if known {
			print = madeUp(rng.IntN(n))
			for _, bit := range rng.Perm(64)[:rng.IntN(distance+1)] {
				print ^= 1 << bit
			}
		}
		began := time.Now()
		found, work, err := s.find(print, distance)
		times = append(times, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		if known && found == 0 {
			b.Fatalf("%016x, within %d of a document, is not known", print, distance)
		}
		hits += found
		all.Values += work.Values
		all.Candidates += work.Candidates
	}
	slices.Sort(times)
	each := float64(len(times))
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1000, "µs/median")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1000, "µs/99%")
	b.ReportMetric(float64(all.Values)/each, "values")
	b.ReportMetric(float64(all.Candidates)/each, "candidates")
	b.ReportMetric(float64(hits)/each, "hits")
	b.ReportMetric(float64(s.size())/float64(n), "B/document")
}
