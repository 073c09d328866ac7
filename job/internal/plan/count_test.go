package plan_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/plan"
)

// texts calls yield with n texts of 20 to 400 words, now and then of 4,000.
func texts(n int, yield func(i int, text []byte) error) error {
	r := rand.New(rand.NewPCG(2, 2))
	var text []byte
	for i := range n {
		words := 20 + r.IntN(380)
		if r.IntN(50) == 0 {
			words *= 10
		}
		text = text[:0]
		for range words {
			text = append(strconv.AppendUint(text, uint64(r.Uint32()%9000), 16), ' ')
		}
		if err := yield(i, text); err != nil {
			return err
		}
	}
	return nil
}

// lines writes the texts as JSON lines, some of them broken.
func lines(w io.Writer, n int) error {
	return texts(n, func(i int, text []byte) error {
		if i%100 == 0 {
			if _, err := io.WriteString(w, "{broken\n"); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "{\"id\":%d,\"text\":\"%s\"}\n", i, text)
		return err
	})
}

// gzipped has write write into one gzip member.
func gzipped(write func(io.Writer, int) error) func(io.Writer, int) error {
	return func(w io.Writer, n int) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if err := write(z, n); err != nil {
			return err
		}
		return z.Close()
	}
}

func zstandard(w io.Writer, n int) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	if err := lines(z, n); err != nil {
		return err
	}
	return z.Close()
}

// record writes a WARC response with a page of a text.
func record(w io.Writer, i int, text []byte) error {
	page := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body><article><p>%s</p></article></body></html>", text)
	_, err := fmt.Fprintf(w, "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/%d\r\nWARC-Record-ID: <urn:uuid:%d>\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", i, i, len(page), page)
	return err
}

func archive(w io.Writer, n int) error {
	return texts(n, func(i int, text []byte) error { return record(w, i, text) })
}

// members writes an archive with a gzip member for each record.
func members(w io.Writer, n int) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	return texts(n, func(i int, text []byte) error {
		z.Reset(w)
		if err := record(z, i, text); err != nil {
			return err
		}
		return z.Close()
	})
}

func table(w io.Writer, n int) error {
	dir, err := os.MkdirTemp("", "plan")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "t.parquet")
	t, err := parquet.Create(path, &data.Texts, parquet.Options{})
	if err != nil {
		return err
	}
	err = texts(n, func(i int, text []byte) error {
		return t.Write(&data.TextRow{DocID: fmt.Append(nil, i), Text: text, Row: int64(i)})
	})
	if err != nil {
		return err
	}
	if err := t.Commit(); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// TestDocuments counts documents by samples of many files and of one, each larger
// than what is read of it and of what a reader holds. A quarter is what plan promises;
// how far a reader of an archive has read ahead depends on the machine.
func TestDocuments(t *testing.T) {
	const documents = 6_000
	for _, c := range []struct {
		name  string
		files int
		write func(io.Writer, int) error
		long  bool // left out of the short form
	}{
		{"a.jsonl", 40, lines, false},
		{"a.jsonl.gz", 40, gzipped(lines), true},
		{"a.jsonl.zst", 40, zstandard, true},
		{"a.warc", 40, archive, true},
		{"a.warc.gz", 40, members, true},
		{"a.warc.gz", 1, members, false},
		{"one.warc.gz", 40, gzipped(archive), true},
		{"a.parquet", 40, table, false},
	} {
		t.Run(fmt.Sprint(c.files, " ", c.name), func(t *testing.T) {
			if c.long && testing.Short() {
				t.Skip("reads much")
			}
			t.Parallel()
			dir := t.TempDir()
			first := filepath.Join(dir, "0-"+c.name)
			f, err := os.Create(first)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			if err := c.write(w, documents); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			for i := 1; i < c.files; i++ {
				if err := os.Link(first, filepath.Join(dir, fmt.Sprint(i, "-", c.name))); err != nil {
					t.Fatal(err)
				}
			}
			p, err := plan.Sample(context.Background(), config.Default(), []string{dir}, plan.Options{Documents: 400})
			if err != nil {
				t.Fatal(err)
			}
			if ratio := float64(p.Documents) / float64(documents*c.files); ratio < 0.8 || ratio > 1.25 {
				t.Errorf("%d documents, %.2f of them", p.Documents, ratio)
			}
			if p.Sampled != 400 && p.Sampled != 402 {
				t.Errorf("a sample of %d", p.Sampled)
			}
			if lined := strings.Contains(c.name, "jsonl"); lined != (p.Skipped > 0) {
				t.Errorf("%d records skipped", p.Skipped)
			}
		})
	}
}

// TestLongDocuments reads more than the usual piece of files whose documents are
// longer than that.
func TestLongDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	dir := t.TempDir()
	var b bytes.Buffer
	text := make([]byte, 3<<20)
	for i := range text {
		text[i] = 'a' + byte(rand.IntN(26))
	}
	const files, each = 10, 12
	for i := range each {
		fmt.Fprintf(&b, "{\"id\":%d,\"text\":\"%s\"}\n", i, text)
	}
	first := filepath.Join(dir, "0.jsonl")
	if err := os.WriteFile(first, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < files; i++ {
		if err := os.Link(first, filepath.Join(dir, fmt.Sprint(i, ".jsonl"))); err != nil {
			t.Fatal(err)
		}
	}
	p, err := plan.Sample(context.Background(), config.Default(), []string{dir}, plan.Options{Documents: files})
	if err != nil {
		t.Fatal(err)
	}
	if all := int64(files * each); p.Sampled != files || p.Documents < all*5/8 || p.Documents > all*5/4 {
		t.Errorf("%d documents by a sample of %d, of %d", p.Documents, p.Sampled, all)
	}
}
