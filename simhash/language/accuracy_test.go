package language

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/simhash"
)

// TestAccuracy measures, for a folder of files like en.txt with a sentence a
// line, how many texts of so many sentences are told right, wrong, or not.
func TestAccuracy(t *testing.T) {
	dir := os.Getenv("NEARDUP_SENTENCES")
	if dir == "" {
		t.Skip("set NEARDUP_SENTENCES to a folder of files like en.txt, a sentence a line")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	o := simhash.DefaultOptions()
	o.Kind = simhash.KindNGrams
	analyzer, err := simhash.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := analyzer.NewWorkspace()
	known := map[string]bool{}
	for _, l := range languages {
		known[l.code] = true
	}
	for _, s := range scripts {
		known[s.language] = true
	}
	for _, n := range []int{1, 3, 10} {
		right, wrong, unsaid := 0, 0, 0
		for _, file := range files {
			want := strings.TrimSuffix(filepath.Base(file), ".txt")
			same := map[string]string{"nb": "no", "nn": "no", "bs": "hr"}
			if s, ok := same[want]; ok {
				want = s
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			var text []byte
			got := map[string]int{}
			lines, texts := 0, 0
			for in := bufio.NewScanner(f); in.Scan(); {
				text = append(append(text, in.Bytes()...), '\n')
				if lines++; lines%n != 0 {
					continue
				}
				got[Of(nil, w.Normalize(nil, text))]++
				texts++
				text = text[:0]
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if !known[want] {
				t.Logf("%d sentences: %s (not known): %d of %d unsaid, %v", n, want, got[""], texts, got)
				continue
			}
			if got[want] < texts*9/10 {
				t.Logf("%d sentences: %s: %v", n, want, got)
			}
			right, unsaid, wrong = right+got[want], unsaid+got[""], wrong+texts-got[want]-got[""]
		}
		all := float64(right + wrong + unsaid)
		t.Logf("%d sentences: %.2f %% right, %.2f %% wrong, %.2f %% unsaid", n, 100*float64(right)/all, 100*float64(wrong)/all, 100*float64(unsaid)/all)
	}
}
