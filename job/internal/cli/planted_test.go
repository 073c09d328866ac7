package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/simhash/passage/passagetest"
)

// perDocument is what a document of 2 KB may cost, searched for 2,000 items.
const perDocument = 60 * time.Microsecond

// A run against items of real texts finds those that are planted in a dump, and nothing
// in documents that have none. NEARDUP_PLANTED is the number of documents; with it 2,000
// items are planted, and what a document costs has a limit. Without it all is smaller.
func TestPlantedAgainst(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a dump of 20 MB: the long tests search it")
	}
	t.Parallel()
	items, documents := 200, 10_000
	large, err := strconv.Atoi(os.Getenv("NEARDUP_PLANTED"))
	if err == nil {
		items, documents = 2000, large
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(7, 7))
	from, into := passagetest.Makers(t)
	var planted [][]string // item i is of language i % len(from)
	reference := createDocuments(t, filepath.Join(dir, "reference.jsonl"))
	for i := range items {
		l := from[i%len(from)]
		planted = append(planted, l.Draw(rng))
		reference.add(fmt.Sprint("item-", i), strings.Join(planted[i], l.Glue))
	}
	reference.close()

	forms := passagetest.Forms()
	every := documents / (items * len(forms))
	dump := createDocuments(t, filepath.Join(dir, "dump.jsonl"))
	for n := range documents {
		l := into[n%len(into)]
		body := l.Stretch(rng, 2048)
		if i, form := n/every/len(forms), n/every%len(forms); n%every == 0 && i < items {
			f := &forms[form]
			l = into[i%len(into)]
			dump.add(fmt.Sprintf("%s-%d", f.Name, i), l.Plant(rng, l.Stretch(rng, 2048), f.Of(from[i%len(from)], rng, planted[i])))
			continue
		}
		dump.add(fmt.Sprint("none-", n), body)
	}
	dump.close()
	none := createDocuments(t, filepath.Join(dir, "none.jsonl"))
	passagetest.Pieces(t, into, 2048, documents/10, func(piece string) {
		none.add(fmt.Sprint("none-", none.n), strings.ToValidUTF8(piece, ""))
	})
	none.close()

	rows, kept, cost := runPlanted(t, reference, dump, "--set", "against.action=cut")
	found, other := map[string]int{}, map[string]int{}
	seen := map[string]bool{}
	for _, row := range rows {
		form, number, _ := strings.Cut(row[0], "-")
		if form == "none" || row[1] != "item-"+number {
			other[form]++
			if form == "none" {
				t.Logf("%s has %s", row[0], row[1])
			}
			continue
		}
		if !seen[row[0]] {
			seen[row[0]] = true
			i, _ := strconv.Atoi(number) // as it was written above
			found[form+" "+from[i%len(from)].Name]++
		}
	}
	for _, f := range forms {
		for _, l := range from {
			n, of := found[f.Name+" "+l.Name], items/len(from)
			t.Logf("%s, %s: %d of %d found", f.Name, l.Name, n, of)
			if float64(n) < f.Least*float64(of) {
				t.Errorf("%s, %s: %d of %d found, want %.2f of them", f.Name, l.Name, n, of, f.Least)
			}
		}
	}
	t.Logf("hits of another item than the planted one, by what was planted: %v", other)
	if other["none"] > 0 {
		t.Errorf("%d hits in documents in which nothing is planted", other["none"])
	}
	if cost > perDocument && large > 0 {
		t.Errorf("a document costs %v, more than %v", cost, perDocument)
	}
	for _, row := range kept {
		t.Errorf("the clean dump has %s in %s", row[1], row[0])
	}
	if rows, _, _ := runPlanted(t, reference, none); len(rows) > 0 {
		t.Errorf("hits in documents of other makers: %v", rows)
	}
}

// runPlanted searches a dump for a reference in a process of its own, and then what it
// leaves in the clean dump. It returns the document and the item of each hit, of both,
// and the processor time a document.
func runPlanted(t *testing.T, reference, dump *documentsFile, args ...string) (rows, kept [][2]string, cost time.Duration) {
	t.Helper()
	out := strings.TrimSuffix(dump.path, ".jsonl")
	s, rows, spent := search(t, dump.path, reference, out, args...)
	if s.Documents != int64(dump.n) {
		t.Fatalf("%d documents, of %d", s.Documents, dump.n)
	}
	cost = spent / time.Duration(dump.n)
	t.Logf("%s: %d documents of %d bytes on average, %d hits, %v of processor time, %v a document, %v by the clock, %d MiB", filepath.Base(dump.path), dump.n, dump.bytes/dump.n, len(rows),
		spent, cost, time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond), s.PeakMemory>>20)
	again, kept, _ := search(t, filepath.Join(out, rundir.Clean), reference, out+"-kept", args...)
	if again.Documents != s.Kept {
		t.Errorf("the clean dump has %d documents, of %d", again.Documents, s.Kept)
	}
	t.Logf("the clean dump has %d documents, %d of them cut, and %d hits", s.Kept, s.Against.Cut, len(kept))
	return rows, kept, cost
}

// search is one run.
func search(t *testing.T, dump string, reference *documentsFile, out string, args ...string) (s job.Summary, rows [][2]string, spent time.Duration) {
	t.Helper()
	cmd, stderr := start(t, append([]string{"run", dump, "--against", reference.path, "--out", out}, args...)...)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if err := rundir.ReadJSON(filepath.Join(out, rundir.SummaryFile), &s); err != nil {
		t.Fatal(err)
	}
	parts, err := rundir.Parts(out, rundir.Against)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range parts {
		err := parquet.ReadTable(t.Context(), path, &data.Against, func(r *data.AgainstRow) error {
			rows = append(rows, [2]string{string(r.DocID), string(r.RefID)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s, rows, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// documentsFile is a file of documents that is being written.
type documentsFile struct {
	t        *testing.T
	path     string
	file     *os.File
	buffered *bufio.Writer
	n, bytes int // documents, and of their texts
}

func createDocuments(t *testing.T, path string) *documentsFile {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return &documentsFile{t: t, path: path, file: f, buffered: bufio.NewWriterSize(f, 1<<20)}
}

func (l *documentsFile) add(id, text string) {
	l.t.Helper()
	line, err := json.Marshal(map[string]string{"id": id, "text": text})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.buffered.Write(append(line, '\n')); err != nil {
		l.t.Fatal(err)
	}
	l.n, l.bytes = l.n+1, l.bytes+len(text)
}

func (l *documentsFile) close() {
	l.t.Helper()
	if err := l.buffered.Flush(); err != nil {
		l.t.Fatal(err)
	}
	if err := l.file.Close(); err != nil {
		l.t.Fatal(err)
	}
}
