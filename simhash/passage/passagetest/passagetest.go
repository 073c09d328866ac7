// Package passagetest makes references and documents that carry them, for tests, out of
// the shared data: items of news, planted in texts of other makers. So what a document
// has of the reference is what was planted in it, and nothing else.
package passagetest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Texts reads a field of a file of the shared data, at most so many, an eighth of them
// in a short run. It skips the test where there is no such data.
func Texts(t testing.TB, name, field string, most int) (all []string) {
	t.Helper()
	if testing.Short() {
		most = (most + 7) / 8
	}
	dir := shared()
	f, err := os.Open(filepath.Join(dir, "data", filepath.FromSlash(name)))
	if err != nil {
		t.Skipf("shared data not found at %s: name its folder in NEARDUP_SHARED", dir)
	}
	defer f.Close() //nolint:errcheck // opened for reading
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() && len(all) < most {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if text, ok := row[field].(string); ok && text != "" {
			all = append(all, text)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// shared is the folder of the shared data: beside the repository, unless it is named.
func shared() string {
	if dir := os.Getenv("NEARDUP_SHARED"); dir != "" {
		return dir
	}
	root, err := os.Getwd()
	for ; err == nil && root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
	}
	return filepath.Join(filepath.Dir(root), "shared")
}

// Language is texts of one language, and how they are cut into words and put together:
// a word is a character in Chinese, of which a word of the language has 1.6 on average.
type Language struct {
	Name  string
	Texts []string
	Glue  string // between words

	words func(text string) []string
	long  float64 // words of ours in one of the language
	ends  []int   // of the texts, laid end to end
}

// English returns a language of texts.
func English(texts []string) *Language {
	return newLanguage(&Language{Name: "en", Texts: texts, Glue: " ", words: strings.Fields, long: 1})
}

// Chinese returns a language of texts.
func Chinese(texts []string) *Language {
	return newLanguage(&Language{Name: "zh", Texts: texts, long: 1.6, words: func(text string) (characters []string) {
		for _, c := range text {
			if !unicode.IsSpace(c) {
				characters = append(characters, string(c))
			}
		}
		return characters
	}})
}

func newLanguage(l *Language) *Language {
	all := 0
	for _, text := range l.Texts {
		all += len(text)
		l.ends = append(l.ends, all)
	}
	return l
}

// Makers returns texts that items are drawn from, in English and in Chinese, and those
// of other makers that they are planted in.
func Makers(t testing.TB) (items, hosts []*Language) {
	t.Helper()
	items = []*Language{English(Texts(t, "en/reuters21578.jsonl.gz", "text", 8000)), Chinese(Texts(t, "zh/hk-dev.jsonl.gz", "text", 4887))}
	// The news quotes the basic laws of Hong Kong and Macau, which no test of false
	// alarms is to have.
	laws := slices.DeleteFunc(Texts(t, "zh/laws.jsonl.gz", "text", 3504), func(text string) bool {
		return strings.Contains(text, "特别行政区")
	})
	hosts = []*Language{
		English(slices.Concat(Texts(t, "html/mixed-dev.truth.jsonl.gz", "text", 2000), Texts(t, "html/wcxb-dev.truth.jsonl.gz", "text", 1000))),
		Chinese(slices.Concat(laws, Texts(t, "zh/blogs.jsonl.gz", "text", 10_000), Texts(t, "zh/lctt_pairs.jsonl.gz", "published", 3000))),
	}
	return items, hosts
}

// Pieces calls yield for pieces of the hosts' texts, and of titles, one behind the other,
// each of size bytes at most, until there are as many as most.
func Pieces(t testing.TB, hosts []*Language, size, most int, yield func(piece string)) {
	t.Helper()
	n := 0
	for _, all := range [][]string{hosts[0].Texts, hosts[1].Texts, Texts(t, "zh/zhihu-dev.jsonl.gz", "text", 20_000), Texts(t, "zh/weibo_titles.jsonl.gz", "text", 20_000)} {
		for _, text := range all {
			for ; len(text) > 0 && n < most; n++ {
				end := min(len(text), size)
				yield(text[:end])
				text = text[end:]
			}
		}
	}
}

// Draw takes 20 to 200 words from within a text, prose and no row of numbers or
// addresses: four fifths of its characters are letters.
func (l *Language) Draw(rng *rand.Rand) []string {
	for {
		words := l.words(l.Texts[rng.IntN(len(l.Texts))])
		n := int(float64(20+rng.IntN(181)) * l.long)
		if len(words) < n {
			continue
		}
		at := rng.IntN(len(words) - n + 1)
		item := words[at : at+n]
		letters, all, latin := 0, 0, 0
		for _, c := range strings.Join(item, "") {
			if all++; unicode.IsLetter(c) {
				letters++
			}
			if c < 0x80 {
				latin++
			}
		}
		if 5*letters >= 4*all && (l.Glue != "" || 4*latin < all) {
			return slices.Clone(item)
		}
	}
}

// Text returns one of the texts.
func (l *Language) Text(rng *rand.Rand) string { return l.Texts[rng.IntN(len(l.Texts))] }

// Stretch returns size bytes from a random place in the texts; less where the text that
// stands there is shorter.
func (l *Language) Stretch(rng *rand.Rand, size int) string {
	at, _ := slices.BinarySearch(l.ends, 1+rng.IntN(l.ends[len(l.ends)-1]))
	text := l.Texts[at]
	from := rng.IntN(max(len(text)-size, 0) + 1)
	return strings.ToValidUTF8(text[from:min(from+size, len(text))], "")
}

// Plant returns body with words at a random place.
func (l *Language) Plant(rng *rand.Rand, body string, words []string) string {
	of := l.words(body)
	at := rng.IntN(len(of) + 1)
	return strings.Join(slices.Concat(of[:at], words, of[at:]), l.Glue)
}

// Form is a way to plant an item.
type Form struct {
	Name  string
	Least float64 // share of the items that must be found
	Of    func(l *Language, rng *rand.Rand, words []string) []string
}

// Forms returns the ways to plant an item.
func Forms() []Form {
	return []Form{
		{"whole", 0.98, func(_ *Language, _ *rand.Rand, w []string) []string { return w }},
		{"cut", 0.95, func(_ *Language, _ *rand.Rand, w []string) []string { return w[:len(w)*4/5] }},
		{"edited", 0.95, (*Language).edit},
		{"mistyped", 0.95, (*Language).mistype},
	}
}

// edit exchanges, adds or leaves out a twentieth of the words, one at a time.
func (l *Language) edit(rng *rand.Rand, words []string) []string {
	words = slices.Clone(words)
	for range max(len(words)/20, 1) {
		at := rng.IntN(len(words))
		other := l.words(l.Text(rng))
		with := other[rng.IntN(len(other))]
		switch rng.IntN(3) {
		case 0:
			words[at] = with
		case 1:
			words = slices.Insert(words, at, with)
		default:
			words = slices.Delete(words, at, at+1)
		}
	}
	return words
}

// mistype exchanges a twentieth of the characters for others of the same text.
func (l *Language) mistype(rng *rand.Rand, words []string) []string {
	text := []rune(strings.Join(words, l.Glue))
	for range len(text) / 20 {
		text[rng.IntN(len(text))] = text[rng.IntN(len(text))]
	}
	return []string{string(text)}
}
