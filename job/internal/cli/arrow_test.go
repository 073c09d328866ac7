package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/rogpeppe/go-internal/testscript"
)

// writeArrow is the scripts' command arrow FORM LINES OUT: it writes the ids and texts of
// JSON lines as Arrow IPC, in batches of two rows. The form is
//
//	file, stream
//	spoilt    a file in whose second batch a text ends beyond the batch
//	cut       a file that ends within its last batch
//	headless  a stream without its schema
func writeArrow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: arrow FORM LINES OUT")
	}
	form, out := args[0], args[2]
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	var content inMemory
	var w interface {
		Write(arrow.Record) error
		Close() error
	}
	if form == "stream" || form == "headless" {
		w = ipc.NewWriter(&content, ipc.WithSchema(schema))
	} else {
		var err error
		w, err = ipc.NewFileWriter(&content, ipc.WithSchema(schema))
		ts.Check(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var ends [][]byte // of the texts of each batch, as it holds them
	end := make([]byte, 4)
	last := 0 // where the last batch begins
	flush := func() {
		if b.Field(0).Len() > 0 {
			last = content.Len()
			ts.Check(w.Write(b.NewRecord()))
			ends = append(ends, end)
			end = make([]byte, 4)
		}
	}
	for lines := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[1])))); lines.More(); {
		var line struct{ ID, Text string }
		ts.Check(lines.Decode(&line))
		b.Field(0).(*array.StringBuilder).Append(line.ID)
		b.Field(1).(*array.StringBuilder).Append(line.Text)
		end = binary.LittleEndian.AppendUint32(end, binary.LittleEndian.Uint32(end[len(end)-4:])+uint32(len(line.Text)))
		if b.Field(0).Len() == 2 {
			flush()
		}
	}
	flush()
	ts.Check(w.Close())
	written := content.Bytes()
	switch form {
	case "spoilt":
		at := bytes.Index(written, ends[1])
		binary.LittleEndian.PutUint32(written[at+len(ends[1])-4:], 1<<30)
	case "cut":
		written = written[:last+200]
	case "headless":
		written = written[8+int(binary.LittleEndian.Uint32(written[4:])):]
	}
	ts.Check(os.WriteFile(ts.MkAbs(out), written, 0o600))
}

// inMemory is a file that an Arrow file is written to.
type inMemory struct{ bytes.Buffer }

// Seek tells the place, which is all that arrow asks of it.
func (m *inMemory) Seek(int64, int) (int64, error) { return int64(m.Len()), nil }
