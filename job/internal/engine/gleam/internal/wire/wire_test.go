//go:build linux

package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawFrame(t *rapid.T) Frame {
	return Frame{
		Kind:    rapid.SampledFrom([]byte{Data, End, Error}).Draw(t, "kind"),
		Step:    byte(rapid.IntRange(0, 6).Draw(t, "step")),
		Attempt: rapid.Uint64().Draw(t, "attempt"),
		From:    rapid.Uint32().Draw(t, "from"),
		To:      rapid.Uint32().Draw(t, "to"),
		Records: rapid.Uint32().Draw(t, "records"),
		Payload: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload"),
	}
}

func TestFrameSurvivesTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wire bytes.Buffer
		w := NewWriter(&wire)
		var want []Frame
		for range rapid.IntRange(0, 5).Draw(t, "frames") {
			f := drawFrame(t)
			f.Attempt = 7
			b, _ := f.Encode()
			if err := w.write(f.To, b); err != nil {
				t.Fatal(err)
			}
			want = append(want, f)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		r := NewReader(&wire)
		for _, f := range want {
			b, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := Decode(b, 7)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Payload, f.Payload) {
				t.Fatalf("got payload %x, want %x", got.Payload, f.Payload)
			}
			got.Payload, f.Payload = nil, nil
			if got.Kind != f.Kind || got.Step != f.Step || got.From != f.From || got.To != f.To || got.Records != f.Records {
				t.Fatalf("got %+v, want %+v", got, f)
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("got %v at the end", err)
		}
	})
}

func TestAnyFlippedBitIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t)
		b, _ := f.Encode()
		bit := rapid.IntRange(0, len(b)*8-1).Draw(t, "bit")
		b[bit/8] ^= 1 << (bit % 8)
		if _, _, err := Decode(b, f.Attempt); !errors.Is(err, ErrFrame) {
			t.Fatalf("bit %d of %d: %v", bit, len(b)*8, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
		if _, _, err := Decode(b[:len(b)-1], f.Attempt); !errors.Is(err, ErrFrame) {
			t.Fatalf("cut: %v", err)
		}
		if _, _, err := Decode(b, f.Attempt+1); !errors.Is(err, ErrFrame) {
			t.Fatalf("another Attempt: %v", err)
		}
	})
}

// TestLedger loses, repeats and changes the order of frames: the ledger closes
// exactly when what came is what was sent, in any order.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		senders := rapid.IntRange(1, 4).Draw(t, "senders")
		type sent struct {
			f   Frame
			sum uint64
		}
		var way []sent
		for s := range senders {
			var a account
			for range rapid.IntRange(0, 3).Draw(t, "frames") {
				f := Frame{Kind: Data, Step: 1, From: uint32(s), Records: uint32(rapid.IntRange(1, 9).Draw(t, "records")), Payload: rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "payload")}
				_, sum := f.Encode()
				a.add(f.Records, sum)
				way = append(way, sent{f, sum})
			}
			way = append(way, sent{Frame{Kind: End, Step: 1, From: uint32(s), Payload: a.append(nil, 5)}, 0})
		}
		way = rapid.Permutation(way).Draw(t, "order")
		whole := true
		switch at := rapid.IntRange(0, len(way)-1).Draw(t, "at"); rapid.IntRange(0, 2).Draw(t, "mischief") {
		case 1:
			way, whole = slices.Delete(slices.Clone(way), at, at+1), false
		case 2:
			way, whole = append(slices.Clone(way), way[at]), false
		}
		ledger := NewLedger("segment", 1, senders)
		var err error
		for _, s := range way {
			if err = ledger.Enter(s.f, s.sum); err != nil {
				break
			}
		}
		if err == nil {
			err = ledger.Close()
		}
		if whole != (err == nil) {
			t.Fatalf("whole %v, but %v", whole, err)
		}
		if whole && ledger.Counted() != uint64(5*senders) {
			t.Fatalf("references %d", ledger.Counted())
		}
	})
}

func FuzzDecode(f *testing.F) {
	good, _ := Frame{Kind: Data, Step: 3, Attempt: 1, Records: 1, Payload: []byte("payload")}.Encode()
	f.Add(good)
	f.Add(good[:20])
	f.Add([]byte("ND\x01\x01\x06\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, sum, err := Decode(b, 1)
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Fatalf("%v is no ErrFrame", err)
			}
			return
		}
		again, sum2 := fr.Encode()
		if !bytes.Equal(again, b) || sum != sum2 {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
	})
}

func FuzzRows(f *testing.F) {
	var wire bytes.Buffer
	w := NewWriter(&wire)
	if err := errors.Join(w.write(3, []byte("frame")), w.write(1<<31, nil), w.Flush()); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Add([]byte{0, 0, 0, 0x80})
	f.Add([]byte{0xff, 0xff, 0xff, 0x7f, 1})
	f.Add([]byte{4, 0, 0, 0, 0x83, 0xc0, 0xc0, 0xc0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		for range len(b) + 1 {
			_, err := r.next()
			if errors.Is(err, io.EOF) && !errors.Is(err, ErrRow) {
				return
			}
			if err != nil {
				if !errors.Is(err, ErrRow) {
					t.Fatalf("%v is no ErrRow", err)
				}
				return
			}
		}
		t.Fatal("more rows than bytes")
	})
}
