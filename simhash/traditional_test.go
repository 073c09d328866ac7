package simhash

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var update = flag.Bool("update", false, "write traditional.txt and variants.txt")

// The table folds ideographs to ideographs that fold no further, and that
// normalisation leaves alone.
func TestTraditional(t *testing.T) {
	simplified := folded()
	if len(simplified) < 4500 {
		t.Errorf("%d pairs, want at least 4500", len(simplified))
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
	for from, to := range map[rune]rune{'萬': '万', '與': '与', '龍': '龙', '國': '国', '學': '学', '體': '体', '發': '发', '髮': '发', '沈': '沉', '瀋': '沉', '著': '着', '悤': '匆', '怱': '匆', '呌': '叫', '棊': '棋', '碁': '棋', '邨': '村'} {
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
	checkGenerated(t, "traditional.txt", want)
}

// checkGenerated compares a table with what it is made of, or writes it.
func checkGenerated(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what its source gives: run the test with -update", name)
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
	closed := map[rune]rune{}
	for from, to := range form {
		for range len(form) {
			next, ok := form[to]
			if !ok || next == to {
				break
			}
			to = next
		}
		closed[from] = to
	}
	return pairLines(closed), nil
}

// pairLines returns a table's text. It leaves out what folds to itself.
func pairLines(form map[rune]rune) []byte {
	var pairs []string
	for from, to := range form {
		if from != to {
			pairs = append(pairs, string(from)+string(to))
		}
	}
	slices.Sort(pairs)
	var b bytes.Buffer
	for part := range slices.Chunk(pairs, 20) {
		fmt.Fprintln(&b, strings.Join(part, ""))
	}
	return b.Bytes()
}

// NEARDUP_UNIHAN names a folder with Unihan_Variants.txt and
// Unihan_OtherMappings.txt of Unicode 15.0. With -update the table is written again.
func TestVariantsAreGenerated(t *testing.T) {
	dir := os.Getenv("NEARDUP_UNIHAN")
	if dir == "" {
		t.Skip("set NEARDUP_UNIHAN to a folder with Unihan_Variants.txt and Unihan_OtherMappings.txt, as /usr/share/unicode of Debian's unicode-data 15.0.0-1, unpacked by bunzip2")
	}
	want, err := generateVariants(dir)
	if err != nil {
		t.Fatal(err)
	}
	checkGenerated(t, "variants.txt", want)
}

// Both are in GB 2312, and older texts have the first where others have the second.
var bothUsual = map[rune]rune{'沈': '沉', '著': '着'}

// generateVariants returns variants.txt made from the files in a folder.
func generateVariants(dir string) ([]byte, error) {
	usual := map[rune]bool{}
	err := eachProperty(filepath.Join(dir, "Unihan_OtherMappings.txt"), func(c rune, property, _ string) error {
		usual[c] = usual[c] || property == "kGB0"
		return nil
	})
	if err != nil {
		return nil, err
	}
	simplified := maps.Collect(Traditional())
	forms := map[rune][]rune{}
	err = eachProperty(filepath.Join(dir, "Unihan_Variants.txt"), func(c rune, property, value string) error {
		_, isTraditional := simplified[c]
		if property != "kSemanticVariant" && property != "kZVariant" || usual[c] || isTraditional || !norm.NFKC.IsNormalString(string(c)) {
			return nil
		}
		for field := range strings.FieldsSeq(value) {
			code, _, _ := strings.Cut(field, "<") // the sources behind it
			to, err := codePoint(code)
			if err != nil {
				return err
			}
			if s, ok := simplified[to]; ok {
				to = s
			}
			if usual[to] && !slices.Contains(forms[c], to) {
				forms[c] = append(forms[c], to)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	form := maps.Clone(bothUsual)
	for c, to := range forms {
		if len(to) == 1 {
			form[c] = to[0]
			if further, ok := bothUsual[to[0]]; ok {
				form[c] = further
			}
		}
	}
	return pairLines(form), nil
}

// eachProperty calls yield with the lines of a file of Unihan: code, property and
// value, with tabs between them.
func eachProperty(path string, yield func(c rune, property, value string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return fmt.Errorf("%s: line %d: want a code, a property and a value", path, n)
		}
		c, err := codePoint(fields[0])
		if err == nil {
			err = yield(c, fields[1], fields[2])
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", path, n, err)
		}
	}
	return lines.Err()
}

// codePoint reads a code like U+5F4A.
func codePoint(code string) (rune, error) {
	c, err := strconv.ParseUint(strings.TrimPrefix(code, "U+"), 16, 32)
	return rune(c), err
}
