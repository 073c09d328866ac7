package decision_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state/decision"
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
				Overlap:  data.Overlap{Jaccard: rapid.Float32().Draw(t, "jaccard"), Containment: rapid.Float32().Draw(t, "containment")}, InHistory: rapid.Bool().Draw(t, "in history"),
				Cluster: number.Draw(t, "cluster"), Size: rapid.Uint32().Draw(t, "size"), Component: number.Draw(t, "component"), Versions: number.Draw(t, "versions"), Group: number.Draw(t, "group"), Listed: rapid.Bool().Draw(t, "listed"), Representative: rapid.Bool().Draw(t, "is_representative"),
				Removal: decision.Removal(rapid.Byte().Draw(t, "removal")),
				Kept: decision.Kept{
					Doc: number.Draw(t, "kept"), Distance: rapid.Byte().Draw(t, "to kept"),
					Evidence: data.Evidence{Reason: data.Reason(rapid.Byte().Draw(t, "kept for")), Figure: rapid.Uint16().Draw(t, "kept figure")},
					Overlap:  data.Overlap{Jaccard: rapid.Float32().Draw(t, "like kept"), Containment: rapid.Float32().Draw(t, "in kept")},
				},
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
		docs := rapid.SliceOf(rapid.Uint64Range(0, decision.None)).Draw(t, "docs")
		var body []byte
		var ids [][]byte
		for i, doc := range docs {
			ids = append(ids, rapid.SliceOf(rapid.Byte()).Draw(t, "id"))
			body = decision.AppendName(body, doc, ids[i])
		}
		if err := decision.WriteNames(path, body); err != nil {
			t.Fatal(err)
		}
		names, err := decision.ReadNames(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range docs {
			if id, err := names.Next(doc ^ 1); err == nil {
				t.Fatalf("another document than %d: %q", doc, id)
			}
			if id, err := names.Next(doc); err != nil || !bytes.Equal(id, ids[i]) {
				t.Fatalf("document %d: %q, %v, want %q", doc, id, err, ids[i])
			}
		}
		if id, err := names.Next(0); err == nil {
			t.Fatalf("after the last: %q", id)
		}
	})
}

// The ids that the tables have for a document, each once.
func TestDecisionNames(t *testing.T) {
	none := decision.NoneKept()
	for _, c := range []struct {
		d    decision.Decision
		want []uint64
	}{
		{decision.Decision{Doc: 1, Match: 2, Cluster: 3, Component: 3, Versions: none.Doc, Kept: none}, []uint64{1, 2, 3}},
		{decision.Decision{Doc: 3, Match: 2, Cluster: 2, Component: 3, Versions: none.Doc, Kept: none}, []uint64{3, 2}},
		{decision.Decision{Doc: 1, Match: 2, Cluster: 1, Component: 1, Versions: 1, Kept: decision.Kept{Doc: 2}}, []uint64{1, 2}},
		{decision.Decision{Doc: 1, Match: decision.None, Cluster: 0, Component: decision.None, Versions: decision.None, Kept: decision.Kept{Doc: 0}}, []uint64{1, 0}},
		{decision.Decision{Doc: 1, Match: decision.None, Cluster: decision.None, Component: decision.None, Versions: decision.None, Kept: none}, []uint64{1}},
		{decision.Decision{Doc: 3, Match: 4, Cluster: 1, Component: 2, Versions: 6, Kept: decision.Kept{Doc: 5}}, []uint64{3, 4, 1, 2, 6, 5}},
	} {
		var got []uint64
		if err := c.d.Names(func(doc uint64) error { got = append(got, doc); return nil }); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %d, %v, want %d", c.d, got, err, c.want)
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
