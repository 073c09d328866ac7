package clean_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
)

// The clean dump of an Arrow stream is one, with the documents that stay and the fields
// that are said of them.
func TestAnnotatedArrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.arrows")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil))
	w := ipc.NewWriter(f, ipc.WithSchema(b.Schema()))
	for _, batch := range [][]string{{"drop", "keep1"}, {"drop"}, {"drop", "keep2"}} {
		for _, id := range batch {
			b.Field(0).(*array.StringBuilder).Append(id)
			b.Field(1).(*array.StringBuilder).Append("text of " + id)
		}
		if err := w.Write(b.NewRecord()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	to := annotated(t, path)
	if filepath.Ext(to) != ".arrow" {
		t.Errorf("the clean dump is %s", to)
	}
	splits, err := source.Expand([]string{to}, source.ExpandOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := source.Open(splits[0], data.ReaderOptions{Columns: data.Columns{Rank: "neardup_copies", Title: "neardup_first_seen"}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var doc data.Document
	for _, want := range []struct {
		id, first string
		copies    float64
	}{{"keep1", "2026-11-01", 3}, {"keep2", "", 1}} {
		if err := in.Read(&doc); err != nil {
			t.Fatal(err)
		}
		if string(doc.ID) != want.id || string(doc.Text) != "text of "+want.id || string(doc.Title) != want.first || doc.Rank != want.copies {
			t.Errorf("%s %q %q %v, want %+v", doc.ID, doc.Text, doc.Title, doc.Rank, want)
		}
	}
	if err := in.Read(&doc); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last document: %v", err)
	}
}
