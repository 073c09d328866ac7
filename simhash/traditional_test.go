package simhash

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var update = flag.Bool("update", false, "write traditional.go")

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

// NEARDUP_OPENCC names a copy of OpenCC's TSCharacters.txt (Apache-2.0). With
// -update the table is written again.
func TestTraditionalIsGenerated(t *testing.T) {
	path := os.Getenv("NEARDUP_OPENCC")
	if path == "" {
		t.Skip("set NEARDUP_OPENCC to opencc/dictionary/TSCharacters.txt of opencc-python-reimplemented 0.1.7")
	}
	want, err := generateTraditional(path)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("traditional.txt", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("traditional.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("traditional.txt is not what %s gives: run the test with -update", path)
	}
}

// generateTraditional returns traditional.txt made from the file at path, whose
// lines are a character, a tab, and its forms separated by spaces. It keeps the
// first, most usual form of each character, follows chains to their end so that
// the folding is idempotent, and leaves out what folds to itself.
func generateTraditional(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	form := map[rune]rune{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		from, forms, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "\t")
		to, _, _ := strings.Cut(forms, " ")
		if !ok || utf8.RuneCountInString(from) != 1 || utf8.RuneCountInString(to) != 1 {
			return nil, fmt.Errorf("%s: line %d: want a character, a tab and a character", path, n)
		}
		r, _ := utf8.DecodeRuneInString(from)
		form[r], _ = utf8.DecodeRuneInString(to)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var pairs []string
	for from, to := range form {
		for range len(form) {
			next, ok := form[to]
			if !ok || next == to {
				break
			}
			to = next
		}
		if from != to {
			pairs = append(pairs, string(from)+string(to))
		}
	}
	slices.Sort(pairs)
	var b bytes.Buffer
	for part := range slices.Chunk(pairs, 20) {
		fmt.Fprintln(&b, strings.Join(part, ""))
	}
	return b.Bytes(), nil
}
