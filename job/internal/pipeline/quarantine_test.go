package pipeline

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
)

func TestQuarantine(t *testing.T) {
	dir := openQuarantine(t)
	path := dir.Path(rundir.Quarantine, "part-00003.jsonl")
	q, err := CreateQuarantine(dir, 3)
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

// TestQuarantineWithoutRecords: of all tasks without a skipped record the first
// alone leaves a file, so that a query of the folder finds one.
func TestQuarantineWithoutRecords(t *testing.T) {
	dir := openQuarantine(t)
	for task := range 3 {
		q, err := CreateQuarantine(dir, task)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(q.Commit(), q.Abort()); err != nil {
			t.Fatal(err)
		}
		if wrote := len(q.Outputs()) == 1; wrote != (task == 0) {
			t.Errorf("task %d: outputs %q", task, q.Outputs())
		}
	}
	if left, err := os.ReadDir(dir.Path(rundir.Quarantine)); err != nil || len(left) != 1 || left[0].Name() != "part-00000.jsonl" {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// openQuarantine is a run directory with the folder of the quarantine.
func openQuarantine(t *testing.T) *rundir.Dir {
	t.Helper()
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	if err := os.MkdirAll(dir.Path(rundir.Quarantine), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
