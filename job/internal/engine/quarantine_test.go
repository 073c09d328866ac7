package engine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
)

func TestQuarantine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part-00000.jsonl")
	q, err := createQuarantine(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := []*data.BadRecord{
		{Source: "a.jsonl", Offset: 7, Reason: data.ReasonMalformed, Err: errors.New("unexpected <"), Raw: []byte("\xff\x00abc")},
		{Source: "a.jsonl", Offset: 9, Reason: data.ReasonNoText},
		{Source: "a.jsonl", Offset: 10, Reason: data.ReasonMalformed, Raw: make([]byte, quarantineRaw+1)},
	}
	for _, b := range bad {
		if err := q.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before Commit: %v", err)
	}
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"source":"a.jsonl","offset":7,"reason":"malformed","error":"unexpected <","raw_size":5,"raw":"/wBhYmM="}
{"source":"a.jsonl","offset":9,"reason":"no_text"}
`
	long, ok := strings.CutPrefix(string(text), want)
	if !ok {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	var row quarantineRow
	if err := json.Unmarshal([]byte(long), &row); err != nil || row.RawSize != quarantineRaw+1 || len(row.Raw) != quarantineRaw {
		t.Errorf("a long record: %d bytes of %d, %v", len(row.Raw), row.RawSize, err)
	}
}

func TestQuarantineWithoutRecords(t *testing.T) {
	dir := t.TempDir()
	q, err := createQuarantine(filepath.Join(dir, "part-00000.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(q.Commit(), q.Abort()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
