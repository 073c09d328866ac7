package passage

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

	"github.com/neardup/neardup/simhash"
)

// texts reads a field of a file of the shared data, at most so many, an eighth of them
// in a short run, and skips the test where there is none.
func texts(t testing.TB, name, field string, most int) (all []string) {
	t.Helper()
	if testing.Short() {
		most = (most + 7) / 8
	}
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(dir, "data", filepath.FromSlash(name)))
	if err != nil {
		t.Skipf("shared data not found at %s: name its folder in NEARDUP_SHARED", dir)
	}
	defer f.Close()
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

// language says how a language's texts are cut into words and put together: a
// Chinese word is 1.6 characters, on average.
type language struct {
	name  string
	texts []string
	words func(text string) []string
	glue  string
	long  float64
}

func english(texts []string) language { return language{"en", texts, strings.Fields, " ", 1} }

func chinese(texts []string) language {
	return language{"zh", texts, func(text string) (characters []string) {
		for _, c := range text {
			if !unicode.IsSpace(c) {
				characters = append(characters, string(c))
			}
		}
		return characters
	}, "", 1.6}
}

// draw takes 20 to 200 words from within a text, prose and no row of numbers or
// addresses: four fifths of its characters are letters.
func (l *language) draw(rng *rand.Rand) []string {
	for {
		words := l.words(l.texts[rng.IntN(len(l.texts))])
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
		if 5*letters >= 4*all && (l.glue != "" || 4*latin < all) {
			return slices.Clone(item)
		}
	}
}

// edit exchanges, adds or leaves out a twentieth of the words; at a time one, a
// character in Chinese.
func (l *language) edit(rng *rand.Rand, words []string) []string {
	words = slices.Clone(words)
	for range max(len(words)/20, 1) {
		at := rng.IntN(len(words))
		other := l.words(l.texts[rng.IntN(len(l.texts))])
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
func mistype(rng *rand.Rand, words []string, glue string) []string {
	text := []rune(strings.Join(words, glue))
	for range len(text) / 20 {
		text[rng.IntN(len(text))] = text[rng.IntN(len(text))]
	}
	return []string{string(text)}
}

// Items of real texts that are planted in other real texts are found: whole, with a
// fifth cut off, with edits and mistyped; and a document that has none of them has no hit.
func TestPlanted(t *testing.T) {
	items, hosts := 2000, 100_000
	if testing.Short() {
		items, hosts = 200, 2000
	}
	rng := rand.New(rand.NewPCG(7, 7))
	from := []language{english(texts(t, "en/reuters21578.jsonl.gz", "text", 8000)), chinese(texts(t, "zh/hk-dev.jsonl.gz", "text", 4887))}
	// The news quotes the basic laws of Hong Kong and Macau, which no test of false
	// alarms is to have.
	laws, blogs := slices.DeleteFunc(texts(t, "zh/laws.jsonl.gz", "text", 3504), func(text string) bool {
		return strings.Contains(text, "特别行政区")
	}), texts(t, "zh/blogs.jsonl.gz", "text", 10_000)
	into := []language{english(slices.Concat(texts(t, "html/mixed-dev.truth.jsonl.gz", "text", 2000), texts(t, "html/wcxb-dev.truth.jsonl.gz", "text", 1000))), chinese(slices.Concat(laws, blogs, texts(t, "zh/lctt_pairs.jsonl.gz", "published", 3000)))}

	var letters simhash.LetterReader
	var b Builder
	var of []int // by item: its language
	var planted [][]string
	for i := range items {
		l := i % len(from)
		item := from[l].draw(rng)
		of, planted = append(of, l), append(planted, item)
		if _, err := b.Add(letters.Read(nil, []byte(strings.Join(item, from[l].glue)))); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSearcher(b.Build(), Rules{Share: 0.7, Run: 300, Least: 48})
	var form []uint32
	search := func(text string) []Hit {
		form = letters.Read(form[:0], []byte(text))
		return s.Search(form)
	}
	for _, c := range []struct {
		name  string
		least float64
		of    func(l *language, words []string) []string
	}{
		{"whole", 0.98, func(_ *language, w []string) []string { return w }},
		{"cut", 0.95, func(_ *language, w []string) []string { return w[:len(w)*4/5] }},
		{"edited", 0.95, func(l *language, w []string) []string { return l.edit(rng, w) }},
		{"mistyped", 0.95, func(l *language, w []string) []string { return mistype(rng, w, l.glue) }},
	} {
		found, all := map[string]int{}, map[string]int{}
		for i, words := range planted {
			host := &into[of[i]]
			body := host.words(host.texts[rng.IntN(len(host.texts))])
			at := rng.IntN(len(body) + 1)
			text := strings.Join(slices.Concat(body[:at], c.of(host, words), body[at:]), host.glue)
			all[host.name]++
			if slices.ContainsFunc(search(text), func(h Hit) bool { return h.Item == i }) {
				found[host.name]++
			}
		}
		for name, n := range all {
			t.Logf("%s, %s: %d of %d found", c.name, name, found[name], n)
			if float64(found[name]) < c.least*float64(n) {
				t.Errorf("%s, %s: %d of %d found, want %.2f of them", c.name, name, found[name], n, c.least)
			}
		}
	}

	// Documents of 2 KB at most, cut from texts of other makers than the items'.
	documents, bytes := 0, 0
	for _, all := range [][]string{into[0].texts, into[1].texts, texts(t, "zh/zhihu-dev.jsonl.gz", "text", 20_000), texts(t, "zh/weibo_titles.jsonl.gz", "text", 20_000)} {
		for _, text := range all {
			for len(text) > 0 && documents < hosts {
				n := min(len(text), 2048)
				if hits := search(text[:n]); len(hits) > 0 {
					t.Errorf("a document has %q, %+v of %q", asText(form[hits[0].From:hits[0].To]), hits[0], strings.Join(planted[hits[0].Item], from[of[hits[0].Item]].glue))
				}
				documents, bytes, text = documents+1, bytes+n, text[n:]
			}
		}
	}
	t.Logf("%d documents of %d bytes on average have none", documents, bytes/documents)
}

// What a document of 2 KB costs that has nothing of 2,000 items.
func BenchmarkSearch(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct {
		from language
		into []string
	}{
		{english(texts(b, "en/reuters21578.jsonl.gz", "text", 8000)), texts(b, "html/mixed-dev.truth.jsonl.gz", "text", 1000)},
		{chinese(texts(b, "zh/hk-dev.jsonl.gz", "text", 4887)), texts(b, "zh/blogs.jsonl.gz", "text", 1000)},
	} {
		b.Run(c.from.name, func(b *testing.B) {
			var letters simhash.LetterReader
			var builder Builder
			for range 2000 {
				if _, err := builder.Add(letters.Read(nil, []byte(strings.Join(c.from.draw(rng), c.from.glue)))); err != nil {
					b.Fatal(err)
				}
			}
			s := NewSearcher(builder.Build(), Rules{Share: 0.7, Run: 300, Least: 48})
			var documents [][]byte
			for _, text := range c.into {
				if len(text) >= 2048 {
					documents = append(documents, []byte(text[:2048]))
				}
			}
			var form []uint32
			b.SetBytes(2048)
			n := 0
			for b.Loop() {
				form = letters.Read(form[:0], documents[n%len(documents)])
				s.Search(form)
				n++
			}
		})
	}
}

// asText is what letters spell.
func asText(letters []uint32) string {
	var b strings.Builder
	for _, c := range letters {
		b.WriteRune(rune(c - 1))
	}
	return b.String()
}
