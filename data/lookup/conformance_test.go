package lookup_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/redis"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/simhash"
)

// testSchema has tables with and without fingerprints, of short and long values.
func testSchema(bits int) lookup.Schema {
	return lookup.Schema{Bits: bits, Tables: []lookup.Table{{Width: 4, Prints: true}, {Width: 20, Prints: true}, {Width: 24}, {Width: 32}}}
}

// entryOf makes up a document with few different keys.
func entryOf(rng *rand.Rand, row int64, width int) lookup.Entry {
	e := lookup.Entry{
		Row: row, ID: fmt.Appendf(nil, "http://example.org/%d/%d", row, rng.IntN(1000)), Lo: rng.Uint64N(4) * 0x9e3779b97f4a7c15,
		Normal: rng.IntN(4) > 0, Length: rng.Uint32N(1000), FirstSeen: []byte("2026-11-01"),
	}
	for range rng.IntN(6) {
		e.Lo ^= 1 << rng.IntN(64)
	}
	switch width {
	case 32:
		e.Lo &= 1<<32 - 1
	case 128:
		e.Hi = rng.Uint64N(2)
	}
	if rng.IntN(2) == 0 {
		e.Sketch = make([]byte, 64)
		e.Sketch[rng.IntN(64)] = byte(row)
	}
	if rng.IntN(3) == 0 {
		e.Letters, e.Cluster = []byte("学习"), fmt.Appendf(nil, "c%d", row)
	}
	if e.Normal {
		e.Keys = append(e.Keys, lookup.Key{Table: 0, Value: uint32(e.Lo & 15)}, lookup.Key{Table: 1, Value: uint32(e.Lo >> 8 & (1<<20 - 1))})
	}
	for range rng.IntN(3) {
		e.Keys = append(e.Keys, lookup.Key{Table: 2, Value: rng.Uint32N(3) << 22}, lookup.Key{Table: 3, Value: ^uint32(0) - rng.Uint32N(3)})
	}
	slices.SortFunc(e.Keys, func(a, b lookup.Key) int { return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Value, b.Value)) })
	e.Keys = slices.Compact(e.Keys)
	return e
}

// TestSorted tests both ways to find all near documents.
func TestSorted(t *testing.T) {
	for name, cost := range map[string]int{"look up": -1 << 40, "compare all": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			conformance(t, true, func(t *testing.T, schema lookup.Schema) lookup.Store {
				s, err := sorted.Open(t.TempDir(), schema, sorted.Options{ProbeCost: cost})
				if err != nil {
					t.Fatal(err)
				}
				return s
			})
		})
	}
}

func TestRedis(t *testing.T) {
	address := server(t)
	var n atomic.Int64
	conformance(t, false, func(t *testing.T, schema lookup.Schema) lookup.Store {
		s, err := redis.Open(context.Background(), schema, redis.Options{Address: address, Prefix: fmt.Sprint("test", n.Add(1))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// conformance is what every store must pass: those that open makes are empty,
// of that schema. scans says that the store can look at every document.
func conformance(t *testing.T, scans bool, open func(t *testing.T, schema lookup.Schema) lookup.Store) {
	run := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a server lets them wait
			test(t)
		})
	}
	for _, bits := range []int{32, 64, 128} {
		run(fmt.Sprintf("%d bits", bits), func(t *testing.T) { againstList(t, bits, scans, open) })
	}
	for i, bits := range []int{32, 64, 128} {
		for m, tables := range map[int]int{1: 4, 2: 10, 3: 20} {
			if !scans && os.Getenv("NEARDUP_EXHAUSTIVE") == "" && m != i+1 {
				continue // of a server each width and each layout once: a look-up is many requests
			}
			run(fmt.Sprintf("all of %d bits, %d tables", bits, tables), func(t *testing.T) { all(t, bits, m, scans, open) })
		}
	}
	run("half a part", func(t *testing.T) { halfPart(t, open) })
	run("concurrent", func(t *testing.T) { concurrent(t, open) })
	run("limit", func(t *testing.T) { limited(t, open) })
	run("mistakes", func(t *testing.T) { mistakes(t, open) })
}

func closing(t *testing.T, s lookup.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func put(ctx context.Context, s lookup.Store, part string, entries []lookup.Entry) error {
	return s.Put(ctx, part, func(yield func(*lookup.Entry) error) error {
		for i := range entries {
			if err := yield(&entries[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// againstList puts, replaces and drops parts, and compares every answer with
// what a list of the documents gives.
func againstList(t *testing.T, width int, scans bool, open func(t *testing.T, schema lookup.Schema) lookup.Store) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(uint64(width), 3))
	schema := testSchema(width)
	s := open(t, schema)
	defer closing(t, s)
	model := map[string][]lookup.Entry{}
	found, queries := 0, 20
	if !scans && os.Getenv("NEARDUP_EXHAUSTIVE") == "" {
		queries = 5 // a look-up is many requests to a server
	}
	for round := range 12 {
		name := fmt.Sprintf("part-%d", rng.IntN(4))
		if round%4 == 3 {
			if err := s.Drop(ctx, name); err != nil {
				t.Fatal(err)
			}
			delete(model, name)
		} else {
			var entries []lookup.Entry
			row := int64(0)
			for range rng.IntN(60) {
				row += 1 + rng.Int64N(3)
				entries = append(entries, entryOf(rng, row, width))
			}
			if err := put(ctx, s, name, entries); err != nil {
				t.Fatal(err)
			}
			model[name] = entries
		}
		var names []string
		for n := range model {
			names = append(names, n)
		}
		slices.Sort(names)
		if got, err := s.Parts(ctx); err != nil || !slices.Equal(got, names) {
			t.Fatalf("parts %q, %v, want %q", got, err, names)
		}
		for range queries {
			like := entryOf(rng, 1, width)
			q := lookup.Query{Keys: like.Keys, Hi: like.Hi, Lo: like.Lo, Distance: rng.IntN(8), All: scans && rng.IntN(4) == 0}
			if !q.All && rng.IntN(2) == 0 {
				q.Reach = make([]int, len(q.Keys))
				for i, k := range q.Keys {
					if table := schema.Tables[k.Table]; table.Prints {
						q.Reach[i] = rng.IntN(2 + 4/table.Width) // wide ones have many values around, see all
					}
				}
			}
			got, err := s.Near(ctx, &q)
			if err != nil {
				t.Fatal(err)
			}
			want := expected(model, schema, &q)
			found += len(want)
			if len(got) != len(want) {
				t.Fatalf("%d hits, want %d", len(got), len(want))
			}
			for i := range got {
				if !same(got[i], want[i]) {
					t.Fatalf("hit %d is %+v, want %+v", i, got[i], want[i])
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("%d hits: the test shows nothing", found)
	}
}

// same compares hits, nil like empty.
func same(a, b lookup.Hit) bool {
	for _, h := range []*lookup.Hit{&a, &b} {
		h.Keys = nil
		for _, p := range []*[]byte{&h.ID, &h.Sketch, &h.Letters, &h.FirstSeen, &h.Cluster} {
			if len(*p) == 0 {
				*p = nil
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

func expected(model map[string][]lookup.Entry, schema lookup.Schema, q *lookup.Query) (hits []lookup.Hit) {
	for part, entries := range model {
		for _, e := range entries {
			d := q.Apart(e.Hi, e.Lo)
			met := q.All && e.Normal && d <= q.Distance
			for _, k := range e.Keys {
				for i, asked := range q.Keys {
					reached := k.Table == asked.Table && bits.OnesCount32(k.Value^asked.Value) <= q.ReachOf(i)
					if reached && (!schema.Tables[k.Table].Prints || d <= q.Distance) {
						met = true
					}
				}
			}
			if met {
				hits = append(hits, lookup.Hit{Part: part, Distance: d, Entry: e})
			}
		}
	}
	slices.SortFunc(hits, func(a, b lookup.Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.Part, b.Part), cmp.Compare(a.Row, b.Row))
	})
	return hits
}

// segmentTables are the tables of a layout of m segments out of 3 + m, and the
// keys that a fingerprint has there.
func segmentTables(t testing.TB, width, m int) (tables []lookup.Table, keys func(dst []lookup.Key, hi, lo uint64) []lookup.Key) {
	t.Helper()
	l, err := simhash.NewCombinations(width, 3, m)
	if err != nil {
		t.Fatal(err)
	}
	l = l.ByKey(32)
	for i := range l.Tables() {
		tables = append(tables, lookup.Table{Width: l.KeyBits(i), Prints: true})
	}
	return tables, func(dst []lookup.Key, hi, lo uint64) []lookup.Key {
		for i := range tables {
			key, _ := l.Key(i, simhash.Fingerprint{Hi: hi, Lo: lo})
			dst = append(dst, lookup.Key{Table: i, Value: uint32(key.Value())})
		}
		return dst
	}
}

// within asks for all fingerprints within a distance in tables of m segments out
// of 3 + m.
func within(m int, keys []lookup.Key, hi, lo uint64, distance int) lookup.Query {
	q := lookup.Query{Hi: hi, Lo: lo, Distance: distance, All: true, Reach: []int{}, Work: new(lookup.Work)}
	reaches := lookup.Reaches(3+m, m, distance)
	for i, k := range keys {
		if reaches[i] >= 0 {
			q.Keys, q.Reach = append(q.Keys, k), append(q.Reach, reaches[i])
		}
	}
	return q
}

// all asks for every document within a distance, near and far ones in crowds
// around a few centres, and compares with what a list gives: the tables are those
// of a layout, and the reach of each is what lookup.Reaches says. A server looks up
// as many values as take it seconds.
func all(t *testing.T, width, m int, scans bool, open func(t *testing.T, schema lookup.Schema) lookup.Store) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(uint64(width), 5))
	schema := lookup.Schema{Bits: width}
	tables, keys := segmentTables(t, width, m)
	schema.Tables = tables
	s := open(t, schema)
	defer closing(t, s)
	random := func() (hi, lo uint64) {
		switch width {
		case 32:
			return 0, rng.Uint64() & (1<<32 - 1)
		case 64:
			return 0, rng.Uint64()
		}
		return rng.Uint64(), rng.Uint64()
	}
	flip := func(hi, lo *uint64, n int) {
		for _, bit := range rng.Perm(width)[:n] {
			if bit < 64 {
				*lo ^= 1 << bit
			} else {
				*hi ^= 1 << (bit - 64)
			}
		}
	}
	var centres [5][2]uint64
	for i := range centres {
		centres[i][0], centres[i][1] = random()
	}
	model := map[string][]lookup.Entry{}
	for _, part := range []string{"a", "b"} {
		for row := range 300 {
			e := lookup.Entry{Row: int64(row), ID: fmt.Appendf(nil, "%s%d", part, row), Normal: row%7 > 0}
			e.Hi, e.Lo = random()
			if row%3 > 0 {
				e.Hi, e.Lo = centres[row%5][0], centres[row%5][1]
				flip(&e.Hi, &e.Lo, row%16)
			}
			if e.Normal {
				e.Keys = keys(nil, e.Hi, e.Lo)
			}
			model[part] = append(model[part], e)
		}
		if err := put(ctx, s, part, model[part]); err != nil {
			t.Fatal(err)
		}
	}
	distances := []int{1: 9, 2: 7, 3: 5}[m]
	if !scans {
		distances = []int{1: 8, 2: 5, 3: 4}[m]
	}
	for distance := range distances {
		found, work := 0, lookup.Work{}
		for _, c := range centres {
			hi, lo := c[0], c[1]
			flip(&hi, &lo, rng.IntN(3))
			q := within(m, keys(nil, hi, lo), hi, lo, distance)
			got, err := s.Near(ctx, &q)
			if err != nil {
				t.Fatal(err)
			}
			want := expected(model, schema, &q)
			found += len(want)
			work.Values += q.Work.Values
			work.Candidates += q.Work.Candidates
			if !slices.EqualFunc(got, want, same) {
				t.Fatalf("distance %d: %d hits, want %d", distance, len(got), len(want))
			}
		}
		if distance > 2 && found < 5 {
			t.Errorf("%d hits within %d: the test shows nothing", found, distance)
		}
		if work.Candidates < found {
			t.Errorf("%d hits within %d of %+v", found, distance, work)
		}
	}
}

// halfPart checks that a part whose documents end with an error is not there,
// and that of a part that was there the old one stays; and that a query of a
// part says when it is not there.
func halfPart(t *testing.T, open func(t *testing.T, schema lookup.Schema) lookup.Store) {
	ctx := context.Background()
	s := open(t, testSchema(64))
	defer closing(t, s)
	stop := errors.New("stop")
	e := lookup.Entry{Row: 1, ID: []byte("a"), Lo: 1, Normal: true, Keys: []lookup.Key{{Table: 0, Value: 1}}}
	half := func(yield func(*lookup.Entry) error) error {
		other := e
		other.ID = []byte("b")
		if err := yield(&other); err != nil {
			return err
		}
		return stop
	}
	if err := s.Put(ctx, "p", half); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if parts, err := s.Parts(ctx); err != nil || len(parts) != 0 {
		t.Fatalf("parts %q, %v", parts, err)
	}
	q := lookup.Query{Keys: e.Keys, Lo: 1}
	if hits, err := s.Near(ctx, &q); err != nil || len(hits) != 0 {
		t.Fatalf("half a part gives %v, %v", hits, err)
	}
	if err := put(ctx, s, "p", []lookup.Entry{e}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, "p", half); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if hits, err := s.Near(ctx, &q); err != nil || len(hits) != 1 || string(hits[0].ID) != "a" {
		t.Fatalf("after half a replacement: %v, %v", hits, err)
	}
	if err := s.Drop(ctx, "nothing"); err != nil {
		t.Fatal(err)
	}
	// Who asks of a part is told when it is not there.
	q.Parts = []string{"p"}
	if hits, err := s.Near(ctx, &q); err != nil || len(hits) != 1 {
		t.Fatalf("of the part: %v, %v", hits, err)
	}
	q.Parts = []string{"p", "r"}
	if hits, err := s.Near(ctx, &q); !errors.Is(err, lookup.ErrParts) {
		t.Fatalf("of a part that is not there: %v, %v", hits, err)
	}
	if err := s.Drop(ctx, "p"); err != nil {
		t.Fatal(err)
	}
	q.Parts = []string{"p"}
	if hits, err := s.Near(ctx, &q); !errors.Is(err, lookup.ErrParts) {
		t.Fatalf("of a part that was dropped: %v, %v", hits, err)
	}
}

// concurrent looks up while parts come and go: an answer has all of a part or
// nothing.
func concurrent(t *testing.T, open func(t *testing.T, schema lookup.Schema) lookup.Store) {
	ctx := context.Background()
	s := open(t, testSchema(64))
	defer closing(t, s)
	entries := make([]lookup.Entry, 20)
	for i := range entries {
		entries[i] = lookup.Entry{Row: int64(i), ID: []byte{byte(i)}, Lo: 1, Normal: true, Keys: []lookup.Key{{Table: 0, Value: 1}}}
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				hits, err := s.Near(ctx, &lookup.Query{Keys: []lookup.Key{{Table: 0, Value: 1}}, Lo: 1})
				if err != nil || len(hits) != 0 && len(hits) != len(entries) {
					t.Errorf("%d hits, %v", len(hits), err)
					return
				}
			}
		})
	}
	for range 10 {
		if err := errors.Join(put(ctx, s, "p", entries), s.Drop(ctx, "p")); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

func limited(t *testing.T, open func(t *testing.T, schema lookup.Schema) lookup.Store) {
	ctx := context.Background()
	s := open(t, testSchema(64))
	defer closing(t, s)
	var entries []lookup.Entry
	const n = lookup.Limit + 50
	for i := range n {
		entries = append(entries, lookup.Entry{Row: int64(i), ID: fmt.Appendf(nil, "%02d", i), Lo: uint64(1)<<(4+i%3) | 1, Normal: true, Keys: []lookup.Key{{Table: 0, Value: 1}}})
	}
	entries = append(entries, lookup.Entry{Row: n, ID: []byte("nearest"), Lo: 1, Normal: true, Keys: []lookup.Key{{Table: 0, Value: 1}}})
	if err := put(ctx, s, "p", entries); err != nil {
		t.Fatal(err)
	}
	hits, err := s.Near(ctx, &lookup.Query{Keys: []lookup.Key{{Table: 0, Value: 1}}, Lo: 1, Distance: 3})
	if err != nil || len(hits) != lookup.Limit || string(hits[0].ID) != "nearest" {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
}

func mistakes(t *testing.T, open func(t *testing.T, schema lookup.Schema) lookup.Store) {
	ctx := context.Background()
	s := open(t, testSchema(64))
	defer closing(t, s)
	for name, entries := range map[string][]lookup.Entry{
		"rows that do not ascend": {{Row: 2, ID: []byte("a")}, {Row: 1, ID: []byte("b")}},
		"no such table":           {{Row: 1, ID: []byte("a"), Keys: []lookup.Key{{Table: 4}}}},
		"a value too wide":        {{Row: 1, ID: []byte("a"), Keys: []lookup.Key{{Table: 0, Value: 16}}}},
	} {
		if err := put(ctx, s, "p", entries); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, q := range []lookup.Query{
		{Keys: []lookup.Key{{Table: 9}}}, {Keys: []lookup.Key{{Table: -1}}}, {Keys: []lookup.Key{{Table: 0, Value: 99}}},
		{Keys: []lookup.Key{{Table: 0}}, Reach: []int{-1}}, {Keys: []lookup.Key{{Table: 2}}, Reach: []int{1}}, {Reach: []int{0}},
	} {
		if err := put(ctx, s, "p", []lookup.Entry{{Row: 1, ID: []byte("a"), Normal: true, Keys: []lookup.Key{{Table: 0, Value: 1}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Near(ctx, &q); err == nil {
			t.Errorf("query %+v: no error", q)
		}
	}
}
