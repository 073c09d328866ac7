package intake_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/state/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newJob makes a job over one JSONL split.
func newJob(t *testing.T, cfg config.Config, lines string) *engine.Job {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	analyzer, release, err := method.NewAnalyzer(cfg.Features)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(release(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	return &engine.Job{Config: cfg, Dir: dir, Analyzer: analyzer, Splits: []data.Split{{Path: path, Format: "jsonl", Size: int64(len(lines)), End: -1}}}
}

// page is a line with words enough for the normal lane.
func page(id int) string {
	var b strings.Builder
	for w := range 30 {
		fmt.Fprintf(&b, "word%d ", id*7+w)
	}
	return fmt.Sprintf(`{"id":"%d","text":"%s"}`, id, b.String())
}

func TestFingerprintTaskKeepsOrderAndCounts(t *testing.T) {
	var lines strings.Builder
	const n = 3000
	for i := range n {
		fmt.Fprintln(&lines, page(i))
		if i%100 == 0 {
			fmt.Fprintln(&lines, `{"id": broken`)
		}
	}
	want := ""
	for _, workers := range []int{1, 2, 7} {
		job := newJob(t, config.Default(), lines.String())
		rec, err := intake.Fingerprint.Execute(context.Background(), job, 0, workers)
		if err != nil {
			t.Fatal(err)
		}
		if rec.RowsIn != n+n/100 || rec.RowsOut != n || rec.Skipped[data.ReasonMalformed] != n/100 || rec.Counts["normal"] != n || rec.Bytes != int64(lines.Len()) {
			t.Fatalf("%d workers: %+v", workers, rec)
		}
		// The source's path is in the table: compare rows, not bytes.
		var rows strings.Builder
		err = parquet.ReadFingerprints(context.Background(), job.Dir.Path(rec.Outputs[0]), parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			fmt.Fprintf(&rows, "%s %x %d %d\n", row.DocID, row.Lo, row.Features, row.Offset)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		documents, err := corpus.Open(job.Dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		err = documents.Scan(0, documents.Len(), views.All, func(doc uint64, r *views.Row) error {
			if r.ID != xxh3.HashString(strconv.Itoa(int(doc))) || !r.View.Normal || r.View.Length == 0 {
				t.Fatalf("document %d: %+v", doc, r)
			}
			fmt.Fprintf(&rows, "%d %x\n", doc, r.View.Lo)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = rows.String()
		}
		if rows.String() != want || !strings.HasPrefix(want, "0 ") {
			t.Fatalf("%d workers: rows differ from one worker's", workers)
		}
		if _, done, err := job.Dir.Record(stage.Fingerprint, 0); !done || err != nil {
			t.Fatalf("no record: %v", err)
		}
	}
}

// TestFingerprintTaskCountsCutPages reads an archive, on several goroutines.
func TestFingerprintTaskCountsCutPages(t *testing.T) {
	record := func(fields string) string {
		return "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\n" + fields + "Content-Length: 4\r\n\r\ntext\r\n\r\n"
	}
	job := newJob(t, config.Default(), record("")+record("WARC-Truncated: length\r\n")+record("WARC-Truncated: time\r\n"))
	job.Splits[0].Format = "warc"
	rec, err := intake.Fingerprint.Execute(context.Background(), job, 0, 3)
	if err != nil || rec.RowsOut != 3 || rec.Cut != 2 {
		t.Errorf("%+v, %v", rec, err)
	}
}

// Pages without a main text are rows, and are counted by reason and site.
func TestFingerprintTaskCountsPagesWithoutText(t *testing.T) {
	record := func(url, html string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", url, len(html), html)
	}
	const gone = "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>"
	job := newJob(t, config.Default(), record("http://a.example/1", gone)+record("http://a.example/2", gone)+record("http://b.example/1", gone)+
		record("http://b.example/2", "<p>Whoever reads this page finds a sentence on it, which is all that it has to say."))
	job.Splits[0].Format = "warc"
	rec, err := intake.Fingerprint.Execute(context.Background(), job, 0, 2)
	if want := (rundir.Reasons{"error": {"a.example": 2, "b.example": 1}}); err != nil || rec.RowsOut != 4 || rec.Counts["empty"] != 3 || !reflect.DeepEqual(rec.None, want) {
		t.Errorf("%+v, %v", rec, err)
	}
}

// A cancelled or failing task leaves nothing under a final name and no
// goroutine (see TestMain).
func TestFingerprintTaskStops(t *testing.T) {
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&lines, page(i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	job := newJob(t, config.Default(), lines.String())
	job.Advance = func(int64) { cancel() } // after the first batch
	if _, err := intake.Fingerprint.Execute(ctx, job, 0, 2); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the cancellation", err)
	}
	if parts, err := rundir.Parts(job.Dir.Path(), rundir.Fingerprints); err != nil || len(parts) > 0 {
		t.Fatalf("left behind: %v, %v", parts, err)
	}
	if left, err := os.ReadDir(filepath.Dir(corpus.ViewPath(job.Dir, 0))); err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}
