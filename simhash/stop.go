package simhash

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// builtinStop are the words of Options.Stop builtin beside the lexicon's own.
const builtinStop = `
的 了 在 是 我 有 和 就 不 人 都 一 一个 上 也 很 到 说 要 去 你 会 着 没有 看 好 自己 这 那
他 她 它 们 我们 你们 他们 她们 它们 与 及 或 但 而 被 把 从 对 对于 为 为了 以 因为 所以 如果
这个 那个 这些 那些 这样 那样 什么 怎么 之 其 其中 等 等等 并 并且 则 可以 可 能 还 又 再 只 更
a an the and or but if then else of to in on at by for from with without into onto over under
is am are was were be been being do does did have has had having will would shall should can could
may might must not no nor so than too very as it its it's he she they them his her their this that
these those i you we us our your my me him who whom which what when where why how there here
all any both each few more most other some such only own same just also about after before again
don't doesn't didn't isn't aren't wasn't weren't won't can't i'm you're we're they're
`

// ReadStopWords reads a user's stop list: one word a line, in UTF-8; blank
// lines and lines that start with # are passed over. It is meant for
// Extra.StopWords.
func ReadStopWords(r io.Reader) ([]string, error) {
	var words []string
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if !utf8.ValidString(line) {
			return nil, fmt.Errorf("stop list: line %d: is not UTF-8; save the list as UTF-8", n)
		}
		words = append(words, line)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("stop list: line %d: %w", n+1, err)
	}
	return words, nil
}

// Trainer counts in how many documents of a collection each word occurs, and
// makes of it what jieba's idf.utf8 and stop_words.utf8 hold. It holds every
// distinct feature it was shown in memory. The zero value is ready to use; one
// goroutine uses it at a time, and Merge brings several together.
type Trainer struct {
	docs  int
	words map[string]int // in how many documents
}

// Add counts one document's distinct features, as Workspace.Features gives
// them.
func (t *Trainer) Add(features []Feature) {
	if t.words == nil {
		t.words = map[string]int{}
	}
	t.docs++
	for i := range features {
		t.words[features[i].Text]++
	}
}

// Merge adds what another trainer has counted.
func (t *Trainer) Merge(other *Trainer) {
	if t.words == nil {
		t.words = make(map[string]int, len(other.words))
	}
	t.docs += other.docs
	for word, n := range other.words {
		t.words[word] += n
	}
}

// Documents is how many were counted.
func (t *Trainer) Documents() int { return t.docs }

// StopWords returns the words that occur in more than maxShare, 0 to 1, of the
// documents and in at least minDocs of them, the most frequent first and
// equally frequent ones in order. They tell no document apart: boilerplate of a
// site, or a language's most frequent words.
func (t *Trainer) StopWords(maxShare float64, minDocs int) []string {
	return t.list(func(n int) bool { return n >= minDocs && float64(n) > maxShare*float64(t.docs) })
}

// WordIDF is a word and its inverse document frequency.
type WordIDF struct {
	Word string
	IDF  float64
}

// IDF returns ln(N/n) of the words that occur in n ≥ minDocs of the N documents
// (Spärck Jones, A Statistical Interpretation of Term Specificity and Its
// Application in Retrieval, 1972), the most frequent first and equally frequent
// ones in order.
func (t *Trainer) IDF(minDocs int) []WordIDF {
	words := t.list(func(n int) bool { return n >= minDocs })
	all := make([]WordIDF, len(words))
	for i, word := range words {
		all[i] = WordIDF{word, math.Log(float64(t.docs) / float64(t.words[word]))}
	}
	return all
}

// list returns the words of which wanted is true, given in how many documents
// each is.
func (t *Trainer) list(wanted func(n int) bool) []string {
	var words []string
	for word, n := range t.words {
		if wanted(n) {
			words = append(words, word)
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		if c := t.words[b] - t.words[a]; c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return words
}
