package job_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
)

// smallFiles writes lines of JSON, one a file, into a folder, and all of them into one
// file.
func smallFiles(t *testing.T, n int) (folder, all string) {
	t.Helper()
	dir := t.TempDir()
	folder = filepath.Join(dir, "small")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range n {
		line := fmt.Sprintf(`{"id":"%d","text":%q}`, i, text(uint64(i*3/4), 80))
		if i%4 == 1 {
			line = strings.Replace(line, `"text":"`, `"text":"changed `, 1)
		}
		jsonl(t, filepath.Join(folder, fmt.Sprintf("%04d.jsonl", i)), line)
		lines = append(lines, line)
	}
	return folder, jsonl(t, filepath.Join(dir, "all.jsonl"), lines...)
}

// cleanDump is the clean dump of a run in one piece.
func cleanDump(t *testing.T, out string) string {
	t.Helper()
	parts, err := rundir.Parts(out, rundir.Clean)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(readFile(t, p))
	}
	return b.String()
}

// A run of many small files finds what a run of one file with their lines finds, in few
// tasks.
func TestManySmallFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes and reads many files")
	}
	const files = 1000
	small, all := smallFiles(t, files)
	dir := t.TempDir()
	req := job.Request{Command: job.CommandRun, Config: config.Default(), Inputs: []string{all}, Out: filepath.Join(dir, "all")}
	want := runJob(t, 2, req)
	req.Inputs, req.Out = []string{small}, filepath.Join(dir, "small")
	got := runJob(t, 2, req)
	if got.Documents != want.Documents || got.Matched != want.Matched || got.Dropped != want.Dropped || got.Dropped == 0 || got.Bytes != want.Bytes || got.Clusters != want.Clusters {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got, want := cleanDump(t, req.Out), cleanDump(t, filepath.Join(dir, "all")); got != want {
		t.Errorf("a clean dump of %d bytes, want one of %d", len(got), len(want))
	}
	if got.Splits < 64 || got.Splits > 130 {
		t.Errorf("%d files are %d splits", files, got.Splits)
	}
	runJob(t, 2, req) // it is finished
	eachRow(t, req.Out, rundir.Fingerprints, &data.Fingerprints, func(_ int, r *data.FingerprintRow) {
		if i, err := strconv.Atoi(string(r.DocID)); err != nil || r.Source != filepath.Join(small, fmt.Sprintf("%04d.jsonl", i)) {
			t.Fatalf("document %s is from %s: %v", r.DocID, r.Source, err)
		}
	})

	// A line that is damaged is told of the file that has it.
	bad := filepath.Join(small, "0500.jsonl")
	jsonl(t, bad, `{"id":"500","text":"cut off`)
	req.Out, req.Config.Input.MaxBad = filepath.Join(dir, "bad"), "1"
	fingerprintOnly(t, req)
	rows := ""
	quarantined, err := filepath.Glob(filepath.Join(req.Out, rundir.Quarantine, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range quarantined {
		rows += readFile(t, path)
	}
	if strings.Count(rows, "\n") != 1 || !strings.Contains(rows, bad) {
		t.Errorf("quarantined: %s", rows)
	}
	// One that is another afterwards is noticed: by its digest, or by its size.
	last := filepath.Join(small, "0999.jsonl")
	was := readFile(t, last)
	req.Engine = local.New(2)
	for what, c := range map[string]struct{ text, want string }{
		"of that size": {strings.Replace(was, `"text":"`, `"text":"A`, 1)[:len(was)-3] + `"}` + "\n", "files behind it has changed since the run began"},
		"larger":       {was + "{}\n", "another input"},
	} {
		if err := os.WriteFile(last, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Run(t.Context(), req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("one of the files is another, %s: %v", what, err)
		}
	}
}

// The same goes for small tables, whose clean dump is tables of several. A row of the
// fingerprints names the file that it is from.
func TestSmallTables(t *testing.T) {
	const files = 150
	write := map[string]func(path string, ids []int){
		"csv": func(path string, ids []int) {
			rows := "id,text\n"
			for _, i := range ids {
				rows += fmt.Sprintf("%d,\"%s\"\n", i, text(uint64(i*3/4), 80))
			}
			if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"parquet": func(path string, ids []int) {
			w, err := parquet.Create(path, &data.Texts, parquet.Options{})
			for _, i := range ids {
				if err == nil {
					err = w.Write(&data.TextRow{DocID: []byte(strconv.Itoa(i)), Text: []byte(text(uint64(i*3/4), 80))})
				}
			}
			if err != nil || w.Commit() != nil {
				t.Fatal(err)
			}
		},
		"arrow": func(path string, ids []int) {
			b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil))
			for _, i := range ids {
				b.Field(0).(*array.StringBuilder).Append(strconv.Itoa(i))
				b.Field(1).(*array.StringBuilder).Append(text(uint64(i*3/4), 80))
			}
			var content strings.Builder
			w := ipc.NewWriter(&content, ipc.WithSchema(b.Schema()))
			if err := errors.Join(w.Write(b.NewRecord()), w.Close(), os.WriteFile(path, []byte(content.String()), 0o600)); err != nil {
				t.Fatal(err)
			}
		},
	}
	if testing.Short() {
		delete(write, "parquet")
		delete(write, "arrow")
	}
	for format, write := range write {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			small, all := filepath.Join(dir, "small"), filepath.Join(dir, "all."+format)
			if err := os.Mkdir(small, 0o755); err != nil {
				t.Fatal(err)
			}
			path := func(i int) string { return filepath.Join(small, fmt.Sprintf("%04d.%s", i, format)) }
			var ids []int
			for i := range files {
				write(path(i), []int{i})
				ids = append(ids, i)
			}
			write(all, ids)
			kept := func(out string) (docs []string) {
				parts, err := rundir.Parts(out, rundir.Clean)
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range parts {
					_, of := inputDocuments(t, part)
					for _, d := range of {
						docs = append(docs, string(d.ID)+" "+string(d.Text))
					}
				}
				return docs
			}
			req := job.Request{Command: job.CommandRun, Config: config.Default(), Inputs: []string{all}, Out: filepath.Join(dir, "one")}
			want := runJob(t, 2, req)
			wantKept := kept(req.Out)
			req.Inputs, req.Out = []string{small}, filepath.Join(dir, "many")
			got := runJob(t, 2, req)
			if got.Splits > files*3/4 || got.Documents != want.Documents || got.Matched != want.Matched || got.Clusters != want.Clusters || got.Dropped != want.Dropped || got.Dropped == 0 {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			if gotKept := kept(req.Out); !slices.Equal(gotKept, wantKept) {
				t.Errorf("%d documents in the clean dump, want %d, or others", len(gotKept), len(wantKept))
			}
			sources := map[string]string{}
			eachRow(t, req.Out, rundir.Fingerprints, &data.Fingerprints, func(_ int, r *data.FingerprintRow) { sources[string(r.DocID)] = r.Source })
			for i := range files {
				if got := sources[strconv.Itoa(i)]; got != path(i) {
					t.Fatalf("document %d is from %s, the table says %s", i, path(i), got)
				}
			}

			// One that cannot be read costs the others nothing.
			if err := os.Truncate(path(75), 9); err != nil {
				t.Fatal(err)
			}
			req.Out, req.Config.Input.MaxBad = filepath.Join(dir, "broken"), "1"
			if got = runJob(t, 2, req); got.Documents != files-1 || int64(len(kept(req.Out))) != got.Kept || got.Kept+got.Dropped != files-1 {
				t.Errorf("with a broken file %d documents, %d kept, %d in the clean dump", got.Documents, got.Kept, len(kept(req.Out)))
			}
		})
	}
}

// A file that cannot be read costs the others of its split nothing: not their documents,
// nor their part of the clean dump, in a run and in one against a reference.
func TestUnreadAmongSmallFiles(t *testing.T) {
	const files = 200
	dir := t.TempDir()
	_, against := againstInput(t, dir)
	in := filepath.Join(dir, "small")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	broken := ""
	for i := range files {
		packed := z.EncodeAll(fmt.Appendf(nil, "{\"id\":\"%d\",\"text\":%q}\n", i, text(uint64(i), 80)), nil)
		path := filepath.Join(in, fmt.Sprintf("%04d.jsonl.zst", i))
		if i == 0 { // a dictionary that is none
			broken, packed = path, append([]byte("\x5d\x2a\x4d\x18\x0d\x00\x00\x00\x28\xb5\x2f\xfdno frame!"), packed...)
		}
		if err := os.WriteFile(path, packed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, cfg := range map[string]config.Config{"run": config.Default(), "against": against} {
		cfg.Input = config.Default().Input
		s := runAgainst(t, 2, []string{in}, filepath.Join(dir, name), cfg)
		if s.Splits >= files || len(s.Unreadable) != 1 || s.Unreadable[0].File != broken || s.Documents != files-1 || s.Kept+s.Dropped != files-1 {
			t.Errorf("%s: %d splits, unreadable %v, %d documents, %d kept", name, s.Splits, s.Unreadable, s.Documents, s.Kept)
		}
		unpack, err := zstd.NewReader(strings.NewReader(cleanDump(t, filepath.Join(dir, name))))
		if err != nil {
			t.Fatal(err)
		}
		clean, err := io.ReadAll(unpack)
		unpack.Close()
		if n := int64(strings.Count(string(clean), "\n")); err != nil || n != s.Kept || n == 0 {
			t.Errorf("%s: %d documents in the clean dump, %d are kept, %v", name, n, s.Kept, err)
		}
	}
}

// Small archives may go, too, once they are fingerprinted: some of a task, or all.
func TestSmallArchivesMayGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes and reads many files")
	}
	archives, out := writeArchives(t), t.TempDir()
	dump := filepath.Join(out, "dump")
	if err := os.Mkdir(dump, 0o755); err != nil {
		t.Fatal(err)
	}
	_, docs := inputDocuments(t, filepath.Join(archives, "crawl-00.warc.gz"))
	for i := range 200 {
		page := fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/%d\r\nContent-Type: application/http\r\nContent-Length: %%d\r\n\r\n", i)
		body := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<title>%d</title><p>%s</p>", i, docs[i%20].Text)
		if err := os.WriteFile(filepath.Join(dump, fmt.Sprintf("%03d.warc", i)), []byte(fmt.Sprintf(page, len(body))+body+"\r\n\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	req := job.Request{Command: job.CommandRun, Inputs: []string{dump}, Out: filepath.Join(out, "undisturbed"), Config: config.Default()}
	want := runJob(t, 2, req)
	if want.Splits < 20 || want.Splits >= 200 {
		t.Fatalf("%d splits", want.Splits)
	}
	req.Out = filepath.Join(out, "left")
	fingerprintOnly(t, req)
	for i := range 101 {
		if err := os.Remove(filepath.Join(dump, fmt.Sprintf("%03d.warc", i+7))); err != nil {
			t.Fatal(err)
		}
	}
	runJob(t, 2, req)
	got, was := digests(t, req.Out, rundir.Outputs...), digests(t, filepath.Join(out, "undisturbed"), rundir.Outputs...)
	if !maps.Equal(got, was) || len(got) < 9 {
		t.Errorf("files\n%v\nwant\n%v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(was)))
	}
}
