package parquet

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

var update = flag.Bool("update", false, "write the tables' statements into their pages")

// markdown is a table of the columns, as the pages of the tables have it.
func markdown[R any](t *testing.T, table *data.Table[R]) string {
	var b strings.Builder
	b.WriteString("| column | type | unit | meaning |\n|---|---|---|---|\n")
	for i := range table.Columns {
		c := &table.Columns[i]
		_, node, kind, err := storedAs(c, 64)
		if err != nil {
			t.Fatal(err)
		}
		name := map[string]string{"utf8": "string", "float64": "double", "bool": "boolean"}[kind.Name()]
		if name == "" {
			name = fmt.Sprint(kind)
		}
		if c.Fingerprint != nil {
			name += "; of 128 bits fixed_size_binary[16]"
		}
		if c.Few || c.Word != nil {
			name += ", dictionary"
		}
		if node.(*schema.PrimitiveNode).RepetitionType() == 1 {
			name += ", nullable"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, name, c.Unit, c.Doc)
	}
	return b.String()
}

// TestFormats compares the tables in tables.md, library-tables.md, against.md and seen.md with their
// statements: a table stands behind the comment <!-- columns of NAME -->, in one
// of the pages.
func TestFormats(t *testing.T) {
	statements := map[string]string{
		data.Fingerprints.Name: markdown(t, &data.Fingerprints), data.Texts.Name: markdown(t, &data.Texts),
		data.Matches.Name: markdown(t, &data.Matches), data.Clusters.Name: markdown(t, &data.Clusters), data.Removed.Name: markdown(t, &data.Removed), data.Seen.Name: markdown(t, &data.Seen),
		data.Against.Name: markdown(t, &data.Against),
		data.Drift.Name:   markdown(t, &data.Drift), data.Growth.Name: markdown(t, &data.Growth),
		data.LibraryDocuments.Name: markdown(t, &data.LibraryDocuments), data.Merges.Name: markdown(t, &data.Merges), data.Samples.Name: markdown(t, &data.Samples),
	}
	stand := map[string]bool{}
	for _, page := range []string{"tables.md", "library-tables.md", "against.md", "seen.md"} {
		path := filepath.Join("..", "..", "job", "docs", page)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := string(text)
		for name, columns := range statements {
			before, rest, ok := strings.Cut(want, "<!-- columns of "+name+" -->\n")
			if !ok {
				continue
			}
			stand[name] = true
			end := strings.Index(rest, "\n\n")
			if end < 0 {
				end = len(rest) - 1 // the last of the page
			}
			want = before + "<!-- columns of " + name + " -->\n" + columns + rest[end+1:]
		}
		if want == string(text) {
			continue
		}
		if !*update {
			t.Errorf("%s says something else than the tables' statements: go test ./data/parquet -run TestFormats -update", page)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	for name := range statements {
		if !stand[name] {
			t.Errorf("no page has a place for the columns of %s", name)
		}
	}
}

// A file says what its columns hold, where readers of Arrow look for it.
func TestDescriptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	w, err := Create(path, &data.Matches, Options{Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	in, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	encoded := in.file.MetaData().KeyValueMetadata().FindValue("ARROW:schema")
	if encoded == nil {
		t.Fatal("it has no schema of Arrow's")
	}
	r, err := ipc.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(*encoded)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	meta := r.Schema().Metadata()
	if table, _ := meta.GetValue("neardup.table"); table != "matches" || r.Schema().NumFields() != len(data.Matches.Columns) {
		t.Errorf("it says %v", r.Schema())
	}
	for i, c := range data.Matches.Columns {
		f := r.Schema().Field(i)
		doc, _ := f.Metadata.GetValue("description")
		unit, _ := f.Metadata.GetValue("unit")
		if f.Name != c.Name || doc != c.Doc || unit != c.Unit || f.Nullable != c.Null {
			t.Errorf("it says %v, the table's statement %s: %s, %s", f, c.Name, c.Unit, c.Doc)
		}
	}
}

// Every column has one type and says what it holds.
func TestStatements(t *testing.T) {
	state(t, &data.Fingerprints)
	state(t, &data.Texts)
	state(t, &data.Matches)
	state(t, &data.Clusters)
	state(t, &data.Removed)
	state(t, &data.Seen)
	state(t, &data.Drift)
	state(t, &data.Growth)
	state(t, &data.LibraryDocuments)
	state(t, &data.Merges)
	state(t, &data.Samples)
	path := filepath.Join(t.TempDir(), "x")
	if _, err := Create(path, &data.Table[int]{Name: "x", Columns: []data.Column[int]{{Name: "y"}}}, Options{}); err == nil || !strings.Contains(err.Error(), "column y") {
		t.Errorf("a column without a type: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("its file is there")
	}
}

func state[R any](t *testing.T, table *data.Table[R]) {
	seen := map[string]bool{}
	for _, c := range table.Columns {
		types := 0
		for _, set := range []bool{c.Fingerprint != nil, c.Hex != nil, c.String != nil, c.Word != nil, c.Bytes != nil, c.Sketch != nil,
			c.Int32 != nil, c.Int64 != nil, c.Row != nil, c.Date != nil, c.Double != nil, c.Bool != nil} {
			if set {
				types++
			}
		}
		if types != 1 || c.Doc == "" || strings.Contains(c.Doc, "|") || seen[c.Name] {
			t.Errorf("table %s, column %s: %d types, description %q", table.Name, c.Name, types, c.Doc)
		}
		if c.Null && (c.Fingerprint != nil || c.Hex != nil || c.Int32 != nil || c.Int64 != nil || c.Row != nil || c.Bool != nil) {
			t.Errorf("table %s, column %s: no value of the type is written as null", table.Name, c.Name)
		}
		seen[c.Name] = true
	}
}

// A column of another type is refused when the file is opened.
func TestOtherTypes(t *testing.T) {
	type row struct{ v []byte }
	at := func(r *row) *[]byte { return &r.v }
	for name, c := range map[string]data.Column[row]{
		"fingerprint": {Sketch: at}, "doc_id": {String: at}, "length": {Bytes: at}, "length_class": {Sketch: at},
	} {
		path := filepath.Join(t.TempDir(), "x")
		c.Name = name
		w, err := Create(path, &data.Table[row]{Name: data.LibraryDocuments.Name, Columns: []data.Column[row]{c}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(&row{make([]byte, data.SketchSize)}), w.Commit()); err != nil {
			t.Fatal(err)
		}
		r, err := OpenTable(path, &data.LibraryDocuments, ReadOptions{Columns: []string{name}})
		if name == "doc_id" { // of the right type
			if err != nil || r.Close() != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, errNotTable) || !strings.Contains(err.Error(), name) {
			t.Errorf("column %s: %v", name, err)
		}
	}
}
