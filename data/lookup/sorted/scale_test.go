package sorted_test

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
	"github.com/neardup/neardup/data/lookup/sorted"
)

// TestLookupScale measures look-ups within distance 3 among as many documents
// as NEARDUP_LOOKUP_SCALE says, in parts of a million, kept in the folder
// NEARDUP_LOOKUP_DIR.
func TestLookupScale(t *testing.T) {
	scale, err := strconv.Atoi(os.Getenv("NEARDUP_LOOKUP_SCALE"))
	if err != nil {
		t.Skip("NEARDUP_LOOKUP_SCALE is not set: a measurement, not a test")
	}
	ctx := context.Background()
	schema := lookup.Schema{Bits: 64}
	for range 4 {
		schema.Tables = append(schema.Tables, lookup.Table{Width: 16, Prints: true})
	}
	s, err := sorted.Open(os.Getenv("NEARDUP_LOOKUP_DIR"), schema)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	print := func(i int) uint64 { return rand.New(rand.NewPCG(uint64(i), 9)).Uint64() }
	keys := func(dst []lookup.Key, fp uint64) []lookup.Key {
		for table := range 4 {
			dst = append(dst, lookup.Key{Table: table, Value: uint32(fp >> (48 - 16*table) & 0xffff)})
		}
		return dst
	}
	const perPart = 1_000_000
	parts, err := s.Parts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for first := len(parts) * perPart; first < scale; first += perPart {
		err := s.Put(ctx, fmt.Sprintf("%05d", first/perPart), func(yield func(*lookup.Entry) error) error {
			var e lookup.Entry
			for i := first; i < min(first+perPart, scale); i++ {
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
	t.Logf("%d documents put in %v, %d bytes each", scale, time.Since(began).Round(time.Second), s.Bytes()/int64(scale))
	rng := rand.New(rand.NewPCG(3, 3))
	for _, known := range []bool{true, false} {
		var times []time.Duration
		hits := 0
		for range 20_000 {
			fp := rng.Uint64()
			if known {
				fp = print(rng.IntN(scale)) ^ 1<<rng.IntN(64) ^ 1<<rng.IntN(64)
			}
			q := lookup.Query{Keys: keys(nil, fp), Lo: fp, Distance: 3}
			began := time.Now()
			found, err := s.Near(ctx, &q)
			times = append(times, time.Since(began))
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range found {
				if bits.OnesCount64(h.Lo^fp) > 3 {
					t.Fatalf("%x is not near %x", h.Lo, fp)
				}
			}
			hits += len(found)
		}
		if known && hits < len(times) {
			t.Fatalf("%d hits of %d known ones", hits, len(times))
		}
		slices.Sort(times)
		t.Logf("known %t: median %v, 99 %% %v, 99.9 %% %v, %d hits of %d", known, times[len(times)/2], times[len(times)*99/100], times[len(times)*999/1000], hits, len(times))
	}
}
