package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	arrow "github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/pierrec/lz4/v4"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/panics"
)

// writeTyped writes a file of ids, texts and a column of a logical type whose
// number in the union LogicalType is member: that of FLOAT16 is changed.
func writeTyped(t testing.TB, member uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	node := func(name string, logical schema.LogicalType, physical arrow.Type, length int) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, arrow.Repetitions.Required, logical, physical, length, -1))
	}
	w := file.NewParquetWriter(&b, schema.MustGroup(schema.NewGroupNode("schema", arrow.Repetitions.Required, schema.FieldList{
		node("id", schema.StringLogicalType{}, arrow.Types.ByteArray, -1),
		node("shape", schema.Float16LogicalType{}, arrow.Types.FixedLenByteArray, 2),
		node("text", schema.StringLogicalType{}, arrow.Types.ByteArray, -1),
	}, -1)))
	g := w.AppendRowGroup()
	for _, column := range []string{"id", "shape", "text"} {
		c, err := g.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			value := arrow.ByteArray(fmt.Sprintf("%s %d", column, i))
			if fixed, ok := c.(*file.FixedLenByteArrayColumnChunkWriter); ok {
				_, err = fixed.WriteBatch([]arrow.FixedLenByteArray{arrow.FixedLenByteArray(value[:2])}, nil, nil)
			} else {
				_, err = c.(*file.ByteArrayColumnChunkWriter).WriteBatch([]arrow.ByteArray{value}, nil, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content := b.Bytes()
	n := binary.LittleEndian.Uint32(content[len(content)-8:])
	footer := content[len(content)-8-int(n) : len(content)-8]
	// The union: field 15, a struct, without fields; the union's end.
	float16, other := []byte{0xfc, 0, 0}, binary.AppendUvarint([]byte{0x0c}, member<<1)
	if bytes.Count(footer, float16) != 1 {
		t.Fatal("the footer is not as expected")
	}
	footer = bytes.Replace(footer, float16, append(other, 0, 0), 1)
	out := append(bytes.Clone(content[:len(content)-8-int(n)]), footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), "PAR1"...)
}

// TestUnknownLogicalTypes reads and copies a file with a column of a logical
// type that Arrow does not know: VARIANT, GEOMETRY, GEOGRAPHY, and one to
// come.
func TestUnknownLogicalTypes(t *testing.T) {
	for _, member := range []uint64{15, 16, 17, 18, 200} {
		path := filepath.Join(t.TempDir(), "typed.parquet")
		if err := os.WriteFile(path, writeTyped(t, member), 0o600); err != nil {
			t.Fatal(err)
		}
		clean := filepath.Join(t.TempDir(), "clean.parquet")
		if n, err := CopyFile(clean, data.Split{Path: path, End: -1}, Options{}, Changes{}, func(int, int64) bool { return true }); n != 10 || err != nil {
			t.Errorf("type %d: %d rows copied, %v", member, n, err)
		}
		for _, path := range []string{path, clean} {
			r, err := Open(data.Split{Path: path, End: -1}, data.ReaderOptions{})
			if err != nil {
				t.Fatalf("type %d: %v", member, err)
			}
			var doc data.Document
			for i := range 10 {
				if err := r.Read(&doc); err != nil || string(doc.ID) != fmt.Sprint("id ", i) || string(doc.Text) != fmt.Sprint("text ", i) {
					t.Errorf("type %d: got %s %s, %v", member, doc.ID, doc.Text, err)
				}
			}
			if err := r.Read(&doc); !errors.Is(err, io.EOF) || r.Digest() == "" {
				t.Errorf("type %d: after the last row: %v", member, err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCopiesAreTheSameBytes copies a column whose dictionary grew too large: some of its
// pages have one and some have none, which Arrow lists in any order.
func TestCopiesAreTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "in.parquet")
	f, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	root := schema.MustGroup(schema.NewGroupNode("schema", arrow.Repetitions.Required, schema.FieldList{
		schema.MustPrimitive(schema.NewPrimitiveNodeLogical("text", arrow.Repetitions.Required, schema.StringLogicalType{}, arrow.Types.ByteArray, 0, -1)),
	}, -1))
	w := file.NewParquetWriter(f, root)
	group := w.AppendRowGroup()
	chunk, err := group.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]arrow.ByteArray, 3000)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, "%04d%s", i, strings.Repeat("x", 1000))
	}
	if _, err := chunk.(*file.ByteArrayColumnChunkWriter).WriteBatch(texts, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{group.Close, w.Close} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	var first []byte
	for i := range 16 {
		to := filepath.Join(dir, fmt.Sprintf("%d.parquet", i))
		if n, err := CopyFile(to, data.Split{Path: from, End: -1}, Options{}, Changes{}, func(_ int, row int64) bool { return row%10 > 0 }); n != 2700 || err != nil {
			t.Fatalf("%d rows, %v", n, err)
		}
		content, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = content
			in, err := file.OpenParquetFile(to, false)
			if err != nil {
				t.Fatal(err)
			}
			column, err := in.MetaData().RowGroup(0).ColumnChunk(0)
			if err != nil || len(column.EncodingStats()) != 3 {
				t.Fatalf("its pages are %v, %v: not of three kinds", column.EncodingStats(), err)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(content, first) {
			t.Fatalf("copy %d has other bytes than the first", i)
		}
	}
}

// FuzzFooter: whatever the footer, the search for unknown types ends, changes
// a file only where it has one, and then leaves none. What pages are counted as stays
// in order.
func FuzzFooter(f *testing.F) {
	for _, member := range []uint64{15, 16, 200} {
		content := writeTyped(f, member)
		n := binary.LittleEndian.Uint32(content[len(content)-8:])
		f.Add(content[len(content)-8-int(n) : len(content)-8])
	}
	f.Add([]byte(strings.Repeat("\x1c", 1000)))
	f.Add([]byte("\x29\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, footer []byte) {
		out := bytes.Clone(footer)
		if found := dropUnknownTypes(out); found && bytes.Equal(out, footer) || found && dropUnknownTypes(out) {
			t.Fatalf("% x became % x, found %v", footer, out, found)
		}
		if out = bytes.Clone(footer); sortEncodings(out) == nil {
			if again := bytes.Clone(out); sortEncodings(again) != nil || !bytes.Equal(again, out) {
				t.Fatalf("% x became % x and then % x", footer, out, again)
			}
		}
	})
}

func TestLZ4(t *testing.T) {
	content := []byte(strings.Repeat("a page of a column, ", 5000))
	block := func(b []byte) []byte { return lz4Codec{}.Encode(nil, b) }
	framed := func(parts ...[]byte) []byte { // one frame of Hadoop's
		size := 0
		for _, p := range parts {
			size += len(p)
		}
		out := binary.BigEndian.AppendUint32(nil, uint32(size))
		for _, p := range parts {
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(block(p)))), block(p)...)
		}
		return out
	}
	raw, old := lz4Codec{}, lz4Codec{hadoop: true}
	for name, c := range map[string]struct {
		codec lz4Codec
		page  []byte
	}{
		"raw":                       {raw, block(content)},
		"deprecated, no frame":      {old, block(content)},
		"deprecated, a frame":       {old, framed(content)},
		"deprecated, two blocks":    {old, framed(content[:1000], content[1000:])},
		"deprecated, two frames":    {old, append(framed(content[:1000]), framed(content[1000:])...)},
		"deprecated, short content": {old, framed(content[:10])},
	} {
		want := content
		if strings.HasSuffix(name, "short content") {
			want = content[:10]
		}
		if got := c.codec.Decode(make([]byte, len(want)), c.page); !bytes.Equal(got, want) {
			t.Errorf("%s: another page came out", name)
		}
		for i := range c.page { // cut and damaged: an error or other bytes, nothing worse
			if i > 100 && i < len(c.page)-20 {
				continue
			}
			damaged := bytes.Clone(c.page)
			damaged[i] ^= 0xff
			for _, page := range [][]byte{c.page[:i], damaged} {
				err := panics.AsError(func() error {
					c.codec.Decode(make([]byte, len(want)), page)
					return nil
				})
				if err != nil && !errors.Is(err, errLZ4) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if n := lz4.CompressBlockBound(10); int64(n) != raw.CompressBound(10) {
		t.Errorf("bound %d", n)
	}
}
