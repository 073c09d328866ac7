package decision_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/decision"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	number := rapid.Uint64Range(0, decision.None)
	rapid.Check(t, func(t *rapid.T) {
		first := number.Draw(t, "first")
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) decision.Decision {
			return decision.Decision{
				Doc: number.Draw(t, "doc"), Match: number.Draw(t, "match"), Distance: rapid.Byte().Draw(t, "h"),
				Evidence: data.Evidence{Reason: data.Reason(rapid.Byte().Draw(t, "reason")), Figure: rapid.Uint16().Draw(t, "figure")},
				Overlap:  data.Overlap{Jaccard: rapid.Float32().Draw(t, "jaccard"), Containment: rapid.Float32().Draw(t, "containment")}, Earlier: rapid.Bool().Draw(t, "earlier"),
				Cluster: number.Draw(t, "cluster"), Size: rapid.Uint32().Draw(t, "size"), Keeper: rapid.Bool().Draw(t, "keeper"),
			}
		}), 0, 30).Draw(t, "decisions")
		w := decision.Create(path, first)
		for i := range want {
			w.Add(&want[i])
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		s, err := decision.Read(path)
		if err != nil || s.First != first || s.Len() != len(want) {
			t.Fatalf("%v: %+v", err, s)
		}
		var d decision.Decision
		for i := range want {
			if s.At(i, &d); d != want[i] {
				t.Fatalf("got %+v, want %+v", d, want[i])
			}
		}
	})
}

func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names")
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfDistinct(rapid.Uint64Range(0, 1<<40), rapid.ID[uint64]).Draw(t, "docs")
		slices.Sort(docs)
		n := decision.CreateNames(path, 0)
		ids := map[uint64][]byte{}
		for _, doc := range docs {
			ids[doc] = rapid.SliceOf(rapid.Byte()).Draw(t, "id")
			n.Add(doc, ids[doc])
		}
		if err := n.Commit(); err != nil {
			t.Fatal(err)
		}
		got, err := decision.ReadNames(path)
		if err != nil {
			t.Fatal(err)
		}
		for doc, want := range ids {
			if id, ok := got.ID(doc); !ok || !bytes.Equal(id, want) {
				t.Fatalf("document %d: %q, %t, want %q", doc, id, ok, want)
			}
			if _, known := ids[doc+1]; !known {
				if id, ok := got.ID(doc + 1); ok {
					t.Fatalf("document %d: %q", doc+1, id)
				}
			}
		}
	})
}

// A file with any byte changed, or cut anywhere, is refused.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	w := decision.Create(path, 7)
	w.Add(&decision.Decision{Doc: 8, Match: 9, Cluster: decision.None})
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 0x40
		for _, b := range [][]byte{damaged, whole[:i]} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := decision.Read(path); !errors.Is(err, data.ErrDamaged) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "decision")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "part-00000")
	w := decision.Create(path, 1000)
	w.Add(&decision.Decision{Doc: 1004, Match: 17, Distance: 2, Overlap: data.UnknownOverlap(), Cluster: 17, Size: 2})
	if err := w.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	s, err := decision.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	var d decision.Decision
	s.At(0, &d)
	fmt.Println(s.First, d.Doc, d.Match, d.Distance)
	// Output: 1000 1004 17 2
}
