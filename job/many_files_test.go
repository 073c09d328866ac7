package job_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
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
