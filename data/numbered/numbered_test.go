package numbered

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		wide := rapid.Bool().Draw(t, "wide")
		docs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Document {
			d := Document{
				ID:    rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "id"),
				Lo:    rapid.Uint64().Draw(t, "lo"),
				Row:   rapid.Uint64().Draw(t, "row"),
				Value: rapid.Float64().Draw(t, "value"),
			}
			if wide {
				d.Hi = rapid.Uint64().Draw(t, "hi")
			}
			return d
		}), 0, 50).Draw(t, "documents")
		write(t, dir, Form{Wide: wide}, docs)
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		if f.Len() != len(docs) {
			t.Fatalf("%d documents, want %d", f.Len(), len(docs))
		}
		for i, d := range docs {
			if hi, lo, err := f.Fingerprint(uint32(i)); err != nil || hi != d.Hi || lo != d.Lo {
				t.Fatalf("fingerprint %d is %x %x (%v), want %x %x", i, hi, lo, err, d.Hi, d.Lo)
			}
			if id, err := f.AppendID([]byte("x"), uint32(i)); err != nil || string(id) != "x"+string(d.ID) {
				t.Fatalf("id %d is %q (%v), want %q", i, id, err, d.ID)
			}
		}
		ids, least := f.IDs(), 0
		ids.window = rapid.IntRange(1, 60).Draw(t, "window")
		for range rapid.IntRange(0, 20).Draw(t, "reads") {
			if least < len(docs) && rapid.Bool().Draw(t, "in order") {
				i := rapid.IntRange(least, len(docs)-1).Draw(t, "document")
				least = i
				if id, err := ids.Append([]byte("x"), uint32(i)); err != nil || string(id) != "x"+string(docs[i].ID) {
					t.Fatalf("in order: id %d is %q (%v), want %q", i, id, err, docs[i].ID)
				}
			} else if len(docs) > 0 {
				i := rapid.IntRange(0, len(docs)-1).Draw(t, "document")
				if id, err := ids.AppendOther([]byte("x"), uint32(i)); err != nil || string(id) != "x"+string(docs[i].ID) {
					t.Fatalf("out of order: id %d is %q (%v), want %q", i, id, err, docs[i].ID)
				}
			}
		}
		if _, err := ids.Append(nil, uint32(len(docs))); err == nil {
			t.Fatal("the id of a document that is none")
		}
		seen := 0
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		check(f.Fingerprints(func(doc uint32, hi, lo uint64) {
			if d := docs[doc]; hi != d.Hi || lo != d.Lo {
				t.Fatalf("fingerprint %d is %x %x, want %x %x", doc, hi, lo, d.Hi, d.Lo)
			}
			seen++
		}))
		check(f.Rows(func(doc uint32, row uint64) {
			if docs[doc].Row != row {
				t.Fatalf("row %d is %d", doc, row)
			}
			seen++
		}))
		check(f.Values(func(doc uint32, v float64) {
			if want := docs[doc].Value; v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
				t.Fatalf("value %d is %v, want %v", doc, v, want)
			}
			seen++
		}))
		if seen != 3*len(docs) {
			t.Fatalf("%d values seen of %d", seen, 3*len(docs))
		}
	})
}

func write(t interface{ Fatal(...any) }, dir string, form Form, docs []Document) {
	w, err := Create(dir, form)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if err := w.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Form{}, []Document{{ID: []byte("a")}, {ID: []byte("b")}})
	if err := os.Truncate(filepath.Join(dir, fingerprintsFile), 9); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil {
		t.Fatal("a cut file went unnoticed")
	}
	if _, err := Open(filepath.Join(dir, "missing")); err == nil {
		t.Fatal("a missing folder went unnoticed")
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Form{Wide: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(Document{ID: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "numbered")
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := Create(dir, Form{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"apple", "fig"} {
		if err := w.Add(Document{ID: []byte(id), Lo: 42}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(w.Commit())
	f, err := Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := f.AppendID(nil, 1)
	fmt.Println(f.Len(), string(id), err)
	fmt.Println(f.Close(), os.RemoveAll(dir))
	// Output:
	// <nil>
	// 2 fig <nil>
	// <nil> <nil>
}

func TestDamagedOffsets(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Form{}, []Document{{ID: []byte("a")}, {ID: []byte("b")}, {ID: []byte("c")}})
	path := filepath.Join(dir, offsetsFile)
	offsets, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	offsets[8] = 200 // where a ends
	if err := os.WriteFile(path, offsets, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	ids := f.IDs()
	for doc, want := range []bool{true, true, false} {
		if _, err := f.AppendID(nil, uint32(doc)); (err != nil) != want {
			t.Errorf("id %d: %v", doc, err)
		}
		if _, err := ids.Append(nil, uint32(doc)); (err != nil) != want {
			t.Errorf("id %d in order: %v", doc, err)
		}
	}
}
