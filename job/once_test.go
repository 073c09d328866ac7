package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
)

// A gzip member that is too large to be held is inflated once. If its checksum is
// wrong at its end, nothing of it is believed, and what stands behind it is.
func TestLargeMember(t *testing.T) {
	if testing.Short() {
		t.Skip("its members are large")
	}
	member := func(name string, documents int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for i := range documents {
			fmt.Fprintf(z, "{\"id\":\"http://%s.example/%d\",\"text\":%q}\n", name, i, strings.Repeat(text(uint64(1000*documents+i), 60)+" ", 20))
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	large, small := member("large", 1000), member("small", 20)
	for _, c := range []struct {
		name      string
		at        int // of the byte of the large member that is changed: then the first line behind it is not believed, either
		documents int64
	}{{"sound", -1, 1020}, {"its checksum", len(large) - 6, 19}, {"its middle", len(large) / 2, 19}} {
		t.Run(c.name, func(t *testing.T) {
			first := bytes.Clone(large)
			if c.at >= 0 {
				first[c.at] ^= 0x10
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "a.jsonl.gz")
			if err := os.WriteFile(path, append(first, small...), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg := config.Default()
			cfg.Input.MaxBad = "100%"
			s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{path}, Out: filepath.Join(dir, "out"), Config: cfg})
			if s.Documents != c.documents || s.Kept+s.Dropped != c.documents || (len(s.Skipped) > 0) != (c.at >= 0) {
				t.Errorf("%d documents, %d kept, %d dropped, %v skipped, want %d documents", s.Documents, s.Kept, s.Dropped, s.Skipped, c.documents)
			}
		})
	}
}

// A run whose standard input sends nothing more ends when it is told to, and leaves
// nothing of it.
func TestSilentStandardInput(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, send := io.Pipe()
	defer send.Close()
	go func() {
		_, _ = io.WriteString(send, `{"id":"1","text":"the first page"}`+"\n")
		cancel()
	}()
	out := filepath.Join(t.TempDir(), "out")
	_, err := job.Run(ctx, job.Request{Command: job.CommandRun, Inputs: []string{"-"}, Stdin: in, Out: out, Config: config.Default(), Engine: local.New(1)})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(out, rundir.State)); err != nil || len(left) > 0 {
		t.Errorf("%v stay, %v", left, err)
	}
}
