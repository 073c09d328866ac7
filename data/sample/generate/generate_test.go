package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data/sample"
)

func TestCommittedFiles(t *testing.T) {
	folder := t.TempDir()
	if err := run(folder); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 5 {
		t.Errorf("%d files were written", len(entries))
	}
	for _, e := range entries {
		got, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what stands in data/sample; run go generate ./data/sample", e.Name())
		}
	}
}

func TestMissingFolder(t *testing.T) {
	if err := run(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
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
		q := copyOf(p, sample.Traditional)
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
