//go:build linux

package wire

import (
	"bytes"
	"testing"

	"github.com/chrislusf/gleam/util"
	"pgregory.net/rapid"
)

// A row is one to gleam, and what gleam writes is one to us, in any form of the
// key.
func TestRowsAreGleams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		to, frame := rapid.Uint32().Draw(t, "to"), rapid.SliceOfN(rapid.Byte(), 1, 70_000).Draw(t, "frame")
		var out bytes.Buffer
		w := NewWriter(&out)
		if err := w.write(to, frame); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		row, err := util.ReadRow(&out)
		if err != nil {
			t.Fatal(err)
		}
		if len(row.K) != 1 || row.K[0] != int64(to) || len(row.V) != 1 || !bytes.Equal(row.V[0].([]byte), frame) {
			t.Fatalf("gleam reads keys %v and %d values", row.K, len(row.V))
		}
		row.K[0] = rapid.SampledFrom([]any{int64(to), uint64(to), int64(-1) - int64(to), int8(-7), uint8(200)}).Draw(t, "key")
		if err := row.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		if got, err := NewReader(&out).next(); err != nil || !bytes.Equal(got, frame) {
			t.Fatalf("%v: %d bytes of %d", err, len(got), len(frame))
		}
		row.K = append(row.K, int64(1))
		if err := row.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		if got, err := NewReader(&out).next(); err == nil {
			t.Fatalf("two keys: %x", got)
		}
	})
}
