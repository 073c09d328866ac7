package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
)

// Windows take about what was asked for, from all over a split where records
// can be found in its middle, and read no document but whole ones.
func TestWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("its files are large")
	}
	const documents, size = 4000, 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	page := func(i int) string { // it hardly shrinks
		b := make([]byte, 1024)
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		return fmt.Sprintf("%d %s", i, b)
	}
	var lines, archive, members, old, oldMembers []byte
	for i := range documents {
		lines = fmt.Appendf(lines, "{\"id\":\"%d\",\"text\":%q}\n", i, page(i))
		record := warcRecord("conversion", fmt.Sprintf("http://example.org/%d", i), "text/plain", page(i))
		archive, members = append(archive, record...), append(members, gzipped(record)...)
		record = bytes.Replace(record, []byte("WARC/1.0"), []byte("WARC/0.18"), 1)
		old, oldMembers = append(old, record...), append(oldMembers, gzipped(record)...)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name    string
		content []byte
		places  int // more than this
	}{
		{"a.jsonl", lines, 3}, {"b.wet", archive, 3}, {"c.wet.gz", members, 3},
		{"g.wet", old, 3}, {"h.wet.gz", oldMembers, 3},
		{"d.jsonl.gz", gzipped(lines), 0}, {"e.wet.gz", gzipped(archive), 0}, {"f.jsonl.zst", zstandard(lines), 0},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		splits, err := source.Expand([]string{path}, source.ExpandOptions{})
		if err != nil || len(splits) != 1 {
			t.Fatalf("%s: %d splits, %v", c.name, len(splits), err)
		}
		nights := map[string]bool{} // documents of any shift
		for _, shift := range []float64{0, .25, .5, .99999} {
			windows, _, err := source.Windows(splits[0], size, shift, new(data.ReaderOptions))
			if err != nil {
				t.Fatal(err)
			}
			seen, total := map[string]bool{}, int64(0)
			for _, w := range windows {
				total += w.End - w.Start
				for _, text := range whole(t, w) {
					if len(text) < 1024 || seen[text[:8]] {
						t.Fatalf("%s: %q…", c.name, text[:min(len(text), 20)])
					}
					seen[text[:8]], nights[text[:8]] = true, true
				}
			}
			if len(windows) <= c.places || total > size || total < size*3/4 || len(seen) < 500 {
				t.Errorf("%s: %d windows of %d bytes have %d documents", c.name, len(windows), total, len(seen))
			}
		}
		if c.places > 0 && len(nights) < 3000 {
			t.Errorf("%s: all shifts together have %d documents", c.name, len(nights))
		}
		if all, _, err := source.Windows(splits[0], 1<<40, .5, new(data.ReaderOptions)); err != nil || len(all) != 1 || !all[0].Equal(splits[0]) {
			t.Errorf("%s: all of it: %v, %v", c.name, all, err)
		}
	}
}

// whole reads the documents of a window until something is wrong with it.
func whole(t *testing.T, w data.Split) (texts []string) {
	t.Helper()
	in, err := source.Open(w, data.ReaderOptions{Unverified: true})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var doc data.Document
	for {
		err := in.Read(&doc)
		if _, bad := data.IsBadRecord(err); bad {
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "cut off") {
				t.Fatal(err)
			}
			return texts
		}
		texts = append(texts, string(bytes.Clone(doc.Text)))
	}
}
