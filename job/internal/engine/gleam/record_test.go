//go:build linux

package gleam

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/simhash"
)

// number draws the number of a document.
var number = rapid.Uint64Range(0, 1<<(8*state.NumberBytes)-1)

func TestRecordsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits")
		cfg := config.Default()
		cfg.Features.Bits, cfg.Match.Distance = bits, rapid.IntRange(0, 5).Draw(t, "k")
		cfg.Match.Containment = 0.8
		p, err := newPacking(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var want []data.Keyed
		var sent []data.Entry
		var keyed, packed []byte
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			f := simhash.Fingerprint{Lo: rapid.Uint64().Draw(t, "lo")}
			switch bits {
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
			var r data.Keyed
			err := p.keys.Keys(table, table+1, &v, number.Draw(t, "doc"), func(k data.Keyed) error { r = k; return nil })
			if err != nil || simhash.Key(r.Key).Table() != table {
				t.Fatalf("table %d: %+v, %v", table, r, err)
			}
			keyed = p.appendKeyed(keyed, r)
			want = append(want, r)
			e := data.Entry{Key: r.Key, Hi: r.Hi, Lo: r.Lo, Docs: rapid.SliceOfN(number, 1, 5).Draw(t, "docs")}
			sent = append(sent, e)
		}
		got, err := p.keyed(nil, wire.Frame{Payload: keyed, Records: uint32(len(want))})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		// Entries come as they were sent, in pieces and over several frames too.
		back := entries{p: p}
		var pieces []data.Entry
		n := uint32(0)
		send := func(e data.Entry) {
			packed = p.appendEntry(packed, &e, e.Docs)
			pieces = append(pieces, e)
			if n++; rapid.Bool().Draw(t, "frame ends") {
				if err := back.add(wire.Frame{Payload: packed, Records: n}); err != nil {
					t.Fatal(err)
				}
				packed, n = nil, 0
			}
		}
		for _, e := range sent {
			cut := rapid.IntRange(1, len(e.Docs)).Draw(t, "cut")
			send(data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo, Docs: e.Docs[:cut]})
			if cut < len(e.Docs) {
				send(data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo, Docs: e.Docs[cut:]})
			}
		}
		if err := back.add(wire.Frame{Payload: packed, Records: n}); err != nil {
			t.Fatal(err)
		}
		for _, want := range pieces {
			var e data.Entry
			if ok, err := back.next(&e); !ok || err != nil || !reflect.DeepEqual(e, want) {
				t.Fatalf("got %v, %t, %v, want %v", e, ok, err, want)
			}
		}
		if ok, err := back.next(new(data.Entry)); ok || err != nil {
			t.Fatalf("behind the last entry: %t, %v", ok, err)
		}
	})
}

func FuzzEntries(f *testing.F) {
	p, err := newPacking(config.Default())
	if err != nil {
		f.Fatal(err)
	}
	k := p.keys.Unpack(2, simhash.Fingerprint{Lo: 77})
	f.Add(p.appendEntry(nil, &data.Entry{Key: k.Key, Lo: k.Lo}, []uint64{1, 1 << 39}), uint32(1))
	f.Add([]byte{1, 0}, uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, records uint32) {
		fr := wire.Frame{Payload: b, Records: records}
		_, _ = p.keyed(nil, fr)
		es := entries{p: p}
		if err := es.add(fr); err != nil {
			if !errors.Is(err, wire.ErrFrame) {
				t.Fatalf("%v is no wire.ErrFrame", err)
			}
			return
		}
		for n := uint32(0); ; n++ {
			var e data.Entry
			ok, err := es.next(&e)
			if err != nil || ok != (n < records) {
				t.Fatalf("entry %d of %d: %t, %v", n, records, ok, err)
			}
			if !ok {
				return
			}
			if len(e.Docs) == 0 || simhash.Key(e.Key).Table() >= p.tables {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}
