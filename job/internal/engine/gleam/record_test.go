//go:build linux

package gleam

import (
	"errors"
	"slices"
	"testing"

	"github.com/neardup/neardup/job/internal/method"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// number draws the number of a document.
var number = rapid.Uint64Range(0, 1<<(8*state.NumberBytes)-1)

func TestRecordsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config.Default()
		cfg.Features.Bits, cfg.Match.Distance = rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits"), rapid.IntRange(0, 5).Draw(t, "k")
		cfg.Match.Containment = 0.8
		if rapid.IntRange(0, 2).Draw(t, "by length") == 0 {
			cfg.Match.Distance, cfg.Match.Verify, cfg.Match.Bands, cfg.Match.ShortTexts, cfg.Match.Containment = 8, config.VerifyLength, false, false, 0
		}
		rule, documents := method.Rule(cfg.Match), rapid.Uint64Range(0, 1<<33)
		var sizes []uint64
		for range rule.Tiers() {
			sizes = append(sizes, documents.Draw(t, "documents"))
		}
		p, err := newPacking(cfg, rule, sizes)
		if err != nil {
			t.Fatal(err)
		}
		if p.wide {
			recordsSurvive[columns.Uint128](t, p)
		} else {
			recordsSurvive[uint64](t, p)
		}
	})
}

// recordsSurvive sends postings and entries, in pieces and over several frames,
// and reads what came.
func recordsSurvive[F columns.Fingerprint](t *rapid.T, p packing) {
	want := make([]map[F][]uint64, p.tables)
	for table := range want {
		want[table] = map[F][]uint64{}
	}
	postings, lists := newPartition[F](p), newPartition[F](p)
	var posted, packed []byte
	n, m := uint32(0), uint32(0)
	for range rapid.IntRange(0, 20).Draw(t, "n") {
		f := simhash.Fingerprint{Lo: rapid.Uint64().Draw(t, "lo")}
		switch p.tiers[0].Layout.Bits() {
		case 32:
			f.Lo &= 1<<32 - 1
		case 128:
			f.Hi = rapid.Uint64().Draw(t, "hi")
		}
		table := rapid.IntRange(0, p.tables-1).Draw(t, "table")
		v := data.View{Hi: f.Hi, Lo: f.Lo, Normal: true, Length: 60, Letters: []byte("letters"), Sample: []byte("keys")}
		for b := range v.Sketch {
			v.Sketch[b] = rapid.Byte().Draw(t, "sketch")
		}
		var r data.Posting
		err := p.keys.Postings(table, table+1, &v, number.Draw(t, "doc"), func(k data.Posting) error { r = k; return nil })
		if err != nil || simhash.Key(r.Key).Table() != table {
			t.Fatalf("table %d: %+v, %v", table, r, err)
		}
		posted = p.appendPosting(posted, r)
		n++
		of := p.keys.Pack(simhash.Key(r.Key), simhash.Fingerprint{Hi: r.Hi, Lo: r.Lo})
		value := columns.Of[F](of.Hi, of.Lo)
		want[table][value] = append(want[table][value], r.Doc)
		docs := rapid.SliceOfN(number, 1, 5).Draw(t, "docs")
		slices.Sort(docs)
		cut := rapid.IntRange(0, len(docs)-1).Draw(t, "cut")
		for _, piece := range [][]uint64{docs[:cut], docs[cut:]} {
			if len(piece) == 0 {
				continue
			}
			packed = appendList(p, packed, table, &value, piece)
			if m++; rapid.Bool().Draw(t, "frame ends") {
				if err := lists.addPostingLists(wire.Frame{Payload: packed, Records: m}); err != nil {
					t.Fatal(err)
				}
				packed, m = nil, 0
			}
		}
		want[table][value] = append(want[table][value], docs...)
	}
	if err := errors.Join(postings.addPostings(wire.Frame{Payload: posted, Records: n}), lists.addPostingLists(wire.Frame{Payload: packed, Records: m})); err != nil {
		t.Fatal(err)
	}
	for table := range want {
		got := map[F][]uint64{}
		for _, came := range []*partition[F]{postings, lists} {
			of, err := reducer.Partial(&came.tables[table], columns.Width[F](), 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, value := range of.Values() {
				got[value] = of.Documents(got[value], i)
			}
		}
		for value, docs := range want[table] {
			slices.Sort(docs)
			slices.Sort(got[value])
			if !slices.Equal(slices.Compact(got[value]), slices.Compact(docs)) {
				t.Fatalf("table %d, %v: documents %v, want %v", table, value, got[value], docs)
			}
		}
		if len(got) != len(want[table]) {
			t.Fatalf("table %d: %d values, want %d", table, len(got), len(want[table]))
		}
	}
}

func FuzzPostingLists(f *testing.F) {
	p, err := newPacking(config.Default(), method.Rule(config.Default().Match), []uint64{1000})
	if err != nil {
		f.Fatal(err)
	}
	value := uint64(77)
	f.Add(appendList(p, nil, 2, &value, []uint64{1, 1 << 39}), uint32(1))
	f.Add([]byte{1, 0}, uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, records uint32) {
		fr := wire.Frame{Payload: b, Records: records}
		for name, add := range map[string]func(*partition[uint64]) error{
			"postings": func(came *partition[uint64]) error { return came.addPostings(fr) },
			"entries":  func(came *partition[uint64]) error { return came.addPostingLists(fr) },
		} {
			came := newPartition[uint64](p)
			if err := add(came); err != nil {
				if !errors.Is(err, wire.ErrFrame) {
					t.Fatalf("%s: %v is no wire.ErrFrame", name, err)
				}
				continue
			}
			n := 0
			for table := range came.tables {
				n += came.tables[table].Len()
			}
			if n != int(records) {
				t.Fatalf("%d %s, want %d", n, name, records)
			}
		}
	})
}
