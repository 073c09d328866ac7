package simhash

import (
	"bytes"
	"os"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	variants "github.com/neardup/neardup/simhash/internal/variants/table"
)

// The table folds ideographs to ideographs that fold no further, and that
// normalisation leaves alone.
func TestTraditional(t *testing.T) {
	simplified := traditional()
	if len(simplified) < 3500 {
		t.Errorf("%d pairs, want at least 3500", len(simplified))
	}
	for from, to := range simplified {
		if !unicode.Is(unicode.Han, from) || !unicode.Is(unicode.Han, to) {
			t.Errorf("%c and %c are not both ideographs", from, to)
		}
		if _, further := simplified[to]; further {
			t.Errorf("%c folds to %c, which folds further", from, to)
		}
		if norm.NFKC.String(string(to)) != string(to) || norm.NFKC.String(string(from)) != string(from) {
			t.Errorf("%c and %c are not both normal", from, to)
		}
	}
	for from, to := range map[rune]rune{'萬': '万', '與': '与', '龍': '龙', '國': '国', '學': '学', '體': '体', '發': '发', '髮': '发'} {
		if simplified[from] != to {
			t.Errorf("%c folds to %c, want %c", from, simplified[from], to)
		}
	}
	for _, r := range "的一是不了人我在有他这中大来上国学体" {
		if to, folds := simplified[r]; folds {
			t.Errorf("simplified %c folds to %c", r, to)
		}
	}
}

// NEARDUP_OPENCC names a copy of OpenCC's TSCharacters.txt.
func TestTraditionalIsGenerated(t *testing.T) {
	path := os.Getenv("NEARDUP_OPENCC")
	if path == "" {
		t.Skip("set NEARDUP_OPENCC to opencc/dictionary/TSCharacters.txt of opencc-python-reimplemented 0.1.7")
	}
	want, err := variants.Generate(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("traditional.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("traditional.go is not what internal/variants makes of %s: generate it again", path)
	}
}
