package mapper

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
)

// A document has one key in each segment table of the tiers that it is in, any
// document its values in the others, and nothing else; a record says the
// fingerprint, or the value, and its document.
func TestKeysAreSegmentsAndValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, bits := drawRule(t), drawBits(t)
		tiers := drawTiers(t, &rule, bits)
		m, values := NewKeyEmitter(tiers, rule), NewKeyEmitter(nil, rule)
		segments := tiers.Tables()
		if want := segments + len(Tables); m.Tables() != segments && m.Tables() != want || (m.Tables() == want) != rule.Sketched() {
			t.Fatalf("%d tables, %d of segments, of %+v", m.Tables(), segments, rule)
		}
		v := drawDocument(t, bits)
		first := rapid.IntRange(0, m.Tables()).Draw(t, "first")
		last := rapid.IntRange(first, m.Tables()).Draw(t, "last")
		var records []data.Posting
		emit := func(r data.Posting) error { records = append(records, r); return nil }
		if err := m.Postings(first, last, &v, 7, emit); err != nil {
			t.Fatal(err)
		}
		rest := records
		take := func(table int) (r data.Posting) {
			if len(rest) == 0 {
				t.Fatalf("no record in table %d: %v", table, records)
			}
			r, rest = rest[0], rest[1:]
			if simhash.Key(r.Key).Table() != table || r.Doc != 7 {
				t.Fatalf("record %+v, want one of table %d", r, table)
			}
			packed := m.Pack(simhash.Key(r.Key), simhash.Fingerprint{Hi: r.Hi, Lo: r.Lo})
			if key := m.Key(table, packed); uint64(key) != r.Key {
				t.Fatalf("%+v, packed %v, has key %v", r, packed, key)
			}
			return r
		}
		for table := first; table < last; table++ {
			if table < segments {
				tier, of := tiers.Table(table)
				if v.Normal && (tier.Shorter == 0 || v.Length < tier.Shorter) {
					r := take(table)
					if got := tier.Layout.Join(simhash.Key(r.Key).In(of), simhash.Fingerprint{Hi: r.Hi, Lo: r.Lo}); got != (simhash.Fingerprint{Hi: v.Hi, Lo: v.Lo}) {
						t.Fatalf("%+v is of fingerprint %v, want that of %+v", r, got, v)
					}
				}
				continue
			}
			of := slices.Clone(values.Values(table-segments, &v))
			if !slices.IsSorted(of) || len(slices.Compact(slices.Clone(of))) != len(of) {
				t.Fatalf("values %v of table %d", of, table)
			}
			for _, value := range of {
				if r := take(table); simhash.Key(r.Key).Value() != value {
					t.Fatalf("record %+v, want one of value %x", r, value)
				}
			}
		}
		if len(rest) > 0 {
			t.Fatalf("records without a table: %+v", rest)
		}
		stop, calls := errors.New("stop"), 0
		err := m.Postings(first, last, &v, 7, func(data.Posting) error { calls++; return stop })
		if calls != min(len(records), 1) || errors.Is(err, stop) != (calls > 0) {
			t.Fatalf("%v after %d calls with %d records", err, calls, len(records))
		}
	})
}

// Two short texts that are the same share a value, sketches with a band one in
// the band's table: what Candidate promises, the tables keep.
func TestCandidatesShareAKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, bits := drawRule(t), drawBits(t)
		m, verify := NewKeyEmitter(drawTiers(t, &rule, bits), rule), NewVerifier(rule)
		a, b := drawDocument(t, bits), drawDocument(t, bits)
		keys := func(v *data.View) (keys []uint64) {
			_ = m.Postings(0, m.Tables(), v, 0, func(r data.Posting) error { keys = append(keys, r.Key); return nil })
			return keys
		}
		of := keys(&b)
		share := slices.ContainsFunc(keys(&a), func(key uint64) bool { return slices.Contains(of, key) })
		if rule.Candidate(&a, &b) != rule.Candidate(&b, &a) {
			t.Fatal("the order of the two matters")
		}
		same := verify.Judge(&a, &b).Reason != data.NotTheSame
		if rule.Candidate(&a, &b) && same && !a.Equal(&b) && !share {
			t.Fatalf("%+v and %+v are the same and share no key by %+v", a, b, rule)
		}
	})
}

func TestSaltAndShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.Custom(func(t *rapid.T) data.Posting {
			return data.Posting{Key: rapid.Uint64().Draw(t, "key"), Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo"), Doc: rapid.Uint64().Draw(t, "doc")}
		})
		a, b := record.Draw(t, "a"), record.Draw(t, "b")
		salts, shards := rapid.IntRange(1, 9).Draw(t, "salts"), rapid.IntRange(1, 9).Draw(t, "shards")
		twin, sibling := b, b
		twin.Hi, twin.Lo = a.Hi, a.Lo
		sibling.Key = a.Key
		if Salt(a.Hi, a.Lo, salts) != Salt(twin.Hi, twin.Lo, salts) {
			t.Fatal("equal suffixes are apart")
		}
		if Shard(a.Key, shards) != Shard(sibling.Key, shards) {
			t.Fatal("the records of one key are apart")
		}
		if s := Salt(a.Hi, a.Lo, salts); s < 0 || s >= salts {
			t.Fatalf("salt %d of %d", s, salts)
		}
		if s := Shard(a.Key, shards); s < 0 || s >= shards {
			t.Fatalf("shard %d of %d", s, shards)
		}
	})
}

// A hot key's different documents spread over all salts: none takes more than
// twice its share. So do keys over shards.
func TestSaltAndShardSpread(t *testing.T) {
	tiers := tiersOf3()
	m := NewKeyEmitter(tiers, Rule{K: 3, Bands: true, Verified: true})
	const parts, n = 8, 8000
	var segments, bands, shards [parts]int
	for i := range uint64(n) {
		v := data.View{Lo: 0xffff<<48 | i, Normal: true}
		v.Sketch[0], v.Sketch[1], v.Sketch[40] = byte(i), byte(i>>8), 1
		_ = m.Postings(0, 1, &v, i, func(r data.Posting) error { segments[Salt(r.Hi, r.Lo, parts)]++; return nil })
		_ = m.Postings(tiers.Tables(), tiers.Tables()+1, &v, i, func(r data.Posting) error { bands[Salt(r.Hi, r.Lo, parts)]++; return nil })
		_ = m.Postings(3, 4, &v, i, func(r data.Posting) error { shards[Shard(r.Key, parts)]++; return nil })
	}
	for _, loads := range [][parts]int{segments, bands, shards} {
		if slices.Max(loads[:]) > 2*n/parts {
			t.Errorf("loads %v", loads)
		}
	}
}

func ExampleKeyEmitter_Postings() {
	rule := Rule{K: 3}
	tiers := rule.Tiers()
	if err := tiers.Choose(64, []uint64{1}); err != nil {
		fmt.Println(err)
		return
	}
	m := NewKeyEmitter(tiers, rule)
	v := data.View{Lo: 0x0123456789abcdef, Normal: true}
	err := m.Postings(0, m.Tables(), &v, 5, func(r data.Posting) error {
		fmt.Printf("%v %012x document %d\n", simhash.Key(r.Key), r.Lo, r.Doc)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 00A:0123 456789abcdef document 5
	// 01B:4567 012389abcdef document 5
	// 10C:89ab 01234567cdef document 5
	// 11D:cdef 0123456789ab document 5
	// <nil>
}
