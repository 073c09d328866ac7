// Package generate makes the files of data/sample and their truth, and tests
// that they are what it makes; it is tests alone. What changes the files:
//
//	go test ./data/internal/generate -run TestCommittedFiles -update
//
// All text is composed from the words and sentence patterns of this package.
// The same bytes are made each time, from nothing that is read.
package generate

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
)

var update = flag.Bool("update", false, "write the files of data/sample")

func TestCommittedFiles(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 6 {
		t.Errorf("%d files were made", len(files))
	}
	for _, f := range files {
		path := filepath.Join("..", "..", "sample", f.name)
		if *update {
			if err := data.WriteFileAtomic(path, f.content); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, f.content) {
			t.Errorf("%s is not what is made here; run go generate ./data/sample", f.name)
		}
	}
}

// Every pattern of every subject names only slots that there are, and is
// filled.
func TestPatterns(t *testing.T) {
	for _, language := range []struct {
		chinese  bool
		subjects []subject
		general  []string
	}{
		{true, chineseSubjects, append(lines(chineseSentences), chineseTitles...)},
		{false, englishSubjects, append(lines(englishSentences), englishTitles...)},
	} {
		seen := map[string]bool{}
		for _, s := range language.subjects {
			w := newWriter(random(0, 0), language.chinese)
			w.about(s)
			for _, pattern := range append(lines(s.sentences), language.general...) {
				text := w.fill(pattern)
				if text == "" || strings.ContainsAny(text, "{}|") {
					t.Errorf("%s: %q became %q", s.name, pattern, text)
				}
			}
			for _, pattern := range lines(s.sentences) {
				if seen[pattern] {
					t.Errorf("%s: %q stands twice", s.name, pattern)
				}
				seen[pattern] = true
			}
		}
	}
}

// Folding undoes the traditional characters, in every sentence that there is.
func TestFoldTraditional(t *testing.T) {
	changed := 0
	for _, p := range originals() {
		if p.Lang == langEnglish {
			continue
		}
		q := copyOf(p, "traditional")
		traditional(q, nil)
		if q.text() != p.text() {
			changed++
		}
		if got, want := fold(q.text()), fold(p.text()); got != want {
			t.Errorf("%s: folded to %.60q, want %.60q", p.ID, got, want)
		}
	}
	if changed < chinesePages {
		t.Errorf("%d pages have traditional characters", changed)
	}
}

func TestJaccard(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"abcdefgh", "ABCDEFGH", 1},
		{"abcdef", "abcdeg", 0.3333}, // abcde is common; bcdef and bcdeg are not
		{"ＡＢＣＤＥ１", "abcde1", 1},
		{"漢書與書寫", "汉书与书写", 1},
		{"abcde", "vwxyz", 0},
		{"", "", 1},
	} {
		if got := jaccard(c.a, c.b); got != c.want {
			t.Errorf("jaccard(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
