package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Of a compressed file of one member that ends in the middle, or is damaged,
// nothing is read: it is named, and weighs its bytes; --strict and --max-bad see
// it.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 3, sized(800))
	whole := compress(t, filepath.Join(in, "002.jsonl"))
	if err := os.Remove(filepath.Join(in, "002.jsonl")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(in, "002.jsonl.gz")
	flipped := bytes.Clone(whole)
	flipped[len(whole)/2] ^= 0xff
	for reason, content := range map[string][]byte{"cut off": whole[:len(whole)/2], "damaged": flipped} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, reason)
		for _, c := range []struct {
			args []string
			code int
		}{{nil, exitDone}, {[]string{"--strict"}, exitSkipped}} {
			if code, stderr := inProcess(append([]string{"run", in, "--out", out}, c.args...)...); code != c.code {
				t.Fatalf("%s %v: exit code %d: %s", reason, c.args, code, stderr)
			}
		}
		if code, stderr := inProcess("run", in, "--out", out+"-none", "--max-bad", "0"); code != exitFailed || !strings.Contains(stderr, "look into ") {
			t.Errorf("%s --max-bad 0: exit code %d: %s", reason, code, stderr)
		}
		var summary job.Summary
		if err := rundir.ReadJSON(filepath.Join(out, rundir.SummaryFile), &summary); err != nil {
			t.Fatal(err)
		}
		if n := summary.Documents; summary.Skipped[data.ReasonDamaged] != 1 || summary.Bad != 1 || n != 2*int64(sized(800)) || summary.Lost != int64(len(content)) ||
			len(summary.Damaged) != 1 || summary.Damaged[0].File != path || !strings.Contains(summary.Damaged[0].Problem, reason) {
			t.Errorf("%s: %d documents, skipped %v, damaged %v", reason, n, summary.Skipped, summary.Damaged)
		}
		quarantine, err := os.ReadFile(filepath.Join(out, rundir.Quarantine, "part-00002.jsonl"))
		if err != nil || !bytes.Contains(quarantine, []byte("002.jsonl.gz")) || !bytes.Contains(quarantine, fmt.Appendf(nil, `"lost":%d`, len(content))) {
			t.Errorf("%s: quarantine %.300s, %v", reason, quarantine, err)
		}
		if code, stderr := inProcess("run", in, "--out", out+"-share", "--max-bad", "1%"); code != exitFailed || !strings.Contains(stderr, path) || !strings.Contains(stderr, "cannot be read, more than 1%") {
			t.Errorf("%s --max-bad 1%%: exit code %d: %s", reason, code, stderr)
		}
	}
}

// A run that is to bear no bad record stops at a file that cannot be read as what
// it is, by name; the other files' tasks are kept, and mending the file is enough.
func TestMendedFile(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 2, sized(800))
	path, out := filepath.Join(in, "002.csv"), filepath.Join(dir, "out")
	// The size is part of the input's identity.
	for _, c := range []struct {
		header string
		code   int
	}{{`"id,tex`, exitFailed}, {"id,text", exitDone}} {
		if err := os.WriteFile(path, []byte(c.header+"\na,some words in a row\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stderr := inProcess("run", in, "--out", out, "--max-bad", "0"); code != c.code || c.code == exitFailed && !strings.Contains(stderr, "002.csv: header row: a quote that nothing closes") {
			t.Fatalf("with %s: exit code %d: %s", c.header, code, stderr)
		}
		if records, _ := filepath.Glob(filepath.Join(out, "tasks", "fingerprint-*.json")); c.code == exitFailed && len(records) != 2 {
			t.Errorf("%v are kept", records)
		}
	}
}

// Frames without a checksum are counted: a changed byte in them goes by unseen.
func TestUncheckedFrames(t *testing.T) {
	dir := t.TempDir()
	dump(t, dir, 1, 30)
	path := filepath.Join(dir, "000.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	var packed []byte
	for line := range bytes.Lines(text) {
		packed = w.EncodeAll(line, packed)
	}
	if err := os.WriteFile(path+".zst", packed, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	var shown, told bytes.Buffer
	if code := Main([]string{"run", path + ".zst", "--out", out}, strings.NewReader(""), &shown, &told); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &told)
	}
	var summary job.Summary
	if err := rundir.ReadJSON(filepath.Join(out, rundir.SummaryFile), &summary); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); summary.Unchecked != int64(n) || !strings.Contains(shown.String(), fmt.Sprintf("%d frames of zstandard", n)) {
		t.Errorf("%d frames of %d: %s", summary.Unchecked, n, &shown)
	}
}

func compress(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
