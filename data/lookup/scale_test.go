package lookup_test

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/hbase"
	"github.com/neardup/neardup/data/lookup/redis"
	"github.com/neardup/neardup/data/lookup/sorted"
)

const (
	scaleTables = 4
	scalePart   = 1_000_000
)

// TestLookupScale measures look-ups among as many documents as
// NEARDUP_LOOKUP_SCALE says: kept in the folder NEARDUP_LOOKUP_DIR, with
// NEARDUP_LOOKUP_PROBE as another cost of a probe, in the server at
// NEARDUP_LOOKUP_REDIS, or in the table neardup-scale behind the gateway at
// NEARDUP_LOOKUP_HBASE.
func TestLookupScale(t *testing.T) {
	scale, err := strconv.Atoi(os.Getenv("NEARDUP_LOOKUP_SCALE"))
	if err != nil {
		t.Skip("NEARDUP_LOOKUP_SCALE is not set: a measurement, not a test")
	}
	schema := lookup.Schema{Bits: 64}
	for range scaleTables {
		schema.Tables = append(schema.Tables, lookup.Table{Width: 16, Prints: true})
	}
	if address := os.Getenv("NEARDUP_LOOKUP_REDIS"); address != "" {
		s, err := redis.Open(context.Background(), schema, redis.Options{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		measure(t, s, scale)
		return
	}
	if address := os.Getenv("NEARDUP_LOOKUP_HBASE"); address != "" {
		s, err := hbase.Open(context.Background(), schema, address, "neardup-scale")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		measure(t, s, scale)
		return
	}
	cost, _ := strconv.Atoi(os.Getenv("NEARDUP_LOOKUP_PROBE")) // 0: as measured
	dir := os.Getenv("NEARDUP_LOOKUP_DIR")
	s, err := sorted.Open(dir, schema, sorted.Options{ProbeCost: cost})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	measure(t, s, scale)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			size += int(info.Size())
		}
	}
	t.Logf("%d bytes a document", size/scale)
}

// measure puts made-up documents, in parts of a million, until there are as
// many as scale says, and looks pages up that are near known ones, and unknown
// ones, within 3, 6 and 8.
func measure(t *testing.T, s lookup.Store, scale int) {
	t.Helper()
	ctx := context.Background()
	print := func(i int) uint64 { return rand.New(rand.NewPCG(uint64(i), 9)).Uint64() }
	keys := func(dst []lookup.Key, fp uint64) []lookup.Key {
		for table := range scaleTables {
			dst = append(dst, lookup.Key{Table: table, Value: uint32(fp >> (48 - 16*table) & 0xffff)})
		}
		return dst
	}
	parts, err := s.Parts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for first := len(parts) * scalePart; first < scale; first += scalePart {
		err := s.Put(ctx, fmt.Sprintf("%05d", first/scalePart), func(yield func(*lookup.Entry) error) error {
			var e lookup.Entry
			for i := first; i < min(first+scalePart, scale); i++ {
				fp := print(i)
				e = lookup.Entry{Row: int64(i - first), Keys: keys(e.Keys[:0], fp), ID: fmt.Appendf(e.ID[:0], "https://site-%04d.example/article-%09d.html", i%5000, i), Lo: fp, Normal: true, Length: 1000, FirstSeen: []byte("2026-11-20")}
				if err := yield(&e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d documents, put in %v", scale, time.Since(began).Round(time.Second))
	rng := rand.New(rand.NewPCG(3, 3))
	for _, distance := range []int{3, 6, 8} {
		for _, known := range []bool{true, false} {
			var times []time.Duration
			hits := 0
			for range 10_000 / distance {
				fp := rng.Uint64()
				if known {
					fp = print(rng.IntN(scale))
					for _, bit := range rng.Perm(64)[:distance-1] {
						fp ^= 1 << bit
					}
				}
				q := lookup.Query{Lo: fp, Distance: distance, All: true}
				reaches := lookup.Reaches(4, 1, distance)
				for i, k := range keys(nil, fp) {
					if reaches[i] >= 0 {
						q.Keys, q.Reach = append(q.Keys, k), append(q.Reach, reaches[i])
					}
				}
				began := time.Now()
				found, err := s.Near(ctx, &q)
				times = append(times, time.Since(began))
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range found {
					if bits.OnesCount64(h.Lo^fp) > distance {
						t.Fatalf("%x is not near %x", h.Lo, fp)
					}
				}
				hits += len(found)
			}
			if known && hits < len(times) {
				t.Fatalf("%d hits of %d known ones", hits, len(times))
			}
			slices.Sort(times)
			t.Logf("within %d, known %t: median %v, 99 %% %v, %d hits of %d", distance, known, times[len(times)/2], times[len(times)*99/100], hits, len(times))
		}
	}
}
