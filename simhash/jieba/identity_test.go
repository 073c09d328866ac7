package jieba_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/neardup/neardup/simhash/gojieba"
	"github.com/neardup/neardup/simhash/jieba"
)

// fullEnv makes TestIdentity compare every document instead of a sample.
const fullEnv = "NEARDUP_FULL"

// reference is the one gojieba the tests of this package share: it takes a
// second and 130 MB.
var reference = sync.OnceValues(func() (*gojieba.Segmenter, error) {
	d, err := jieba.Default()
	if err != nil {
		return nil, err
	}
	return gojieba.New(d)
})

func dictionary(tb testing.TB) *jieba.Dictionary {
	tb.Helper()
	d, err := jieba.Default()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// pair is our segmenter and gojieba with the same settings.
type pair struct {
	d          *jieba.Dictionary
	ours       *jieba.Cutter
	theirs     *gojieba.Segmenter
	got, want  []jieba.Word
	hmm        bool
	words, len int
}

func pairs(tb testing.TB) []*pair {
	tb.Helper()
	s, err := reference()
	if errors.Is(err, gojieba.ErrUnavailable) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	d := dictionary(tb)
	return []*pair{
		{d: d, ours: d.NewCutter(true), theirs: s, hmm: true},
		{d: d, ours: d.NewCutter(false), theirs: s},
	}
}

// compare reports the first place where the two cut a text differently.
func (p *pair) compare(text []byte) error {
	p.got = p.ours.Cut(p.got[:0], text)
	p.want = p.theirs.Cut(p.want[:0], text, p.hmm)
	p.words += len(p.want)
	p.len += len(text)
	for i := range max(len(p.got), len(p.want)) {
		if i >= len(p.got) || i >= len(p.want) || p.got[i] != p.want[i] {
			return fmt.Errorf("hmm %t: word %d differs:\n  jieba   %s\n  gojieba %s\n  text %.300q", p.hmm, i,
				show(text, p.got, i), show(text, p.want, i), text)
		}
	}
	if n := len(p.got); n > 0 && int(p.got[n-1].End) != len(text) {
		return fmt.Errorf("hmm %t: %d bytes cut of %d", p.hmm, p.got[n-1].End, len(text))
	}
	return nil
}

// show renders the words around i.
func show(text []byte, words []jieba.Word, i int) string {
	var b strings.Builder
	for k := max(0, i-3); k < min(len(words), i+4); k++ {
		w := words[k]
		fmt.Fprintf(&b, "%q#%d ", text[w.Start:w.End], w.ID)
	}
	return b.String()
}

// TestIdentity compares the words and their numbers with gojieba's over real
// documents: a sample, or all with NEARDUP_FULL set.
func TestIdentity(t *testing.T) {
	dir := shared(t)
	full, most := os.Getenv(fullEnv) != "", 400
	if testing.Short() {
		most = 60
	}
	for _, file := range sharedFiles {
		t.Run(strings.ReplaceAll(file.name, "/", "-"), func(t *testing.T) {
			ps := pairs(t)
			n, all := 0, 0
			for text := range texts(t, dir, file.name, file.fields) {
				all++
				if !full && n == most {
					break
				}
				if !full && all%3 != 0 {
					continue
				}
				if !full {
					text = bytes.ToValidUTF8(text[:min(len(text), 4<<10)], nil)
				}
				n++
				for _, p := range ps {
					if err := p.compare(text); err != nil {
						t.Fatalf("document %d: %v", all, err)
					}
				}
			}
			for _, p := range ps {
				t.Logf("hmm %t: %d texts, %d bytes, %d words, 0 differences", p.hmm, n, p.len, p.words)
			}
		})
	}
}
