package passage

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/passage/passagetest"
)

// Items of real texts that are planted in other real texts are found: whole, with a
// fifth cut off, with edits and mistyped; and a document that has none of them has no hit.
func TestPlanted(t *testing.T) {
	items, documents := 2000, 30_000
	switch {
	case testing.Short():
		items, documents = 200, 2000
	case os.Getenv("NEARDUP_EXHAUSTIVE") != "":
		documents = 100_000
	}
	rng := rand.New(rand.NewPCG(7, 7))
	from, into := passagetest.Makers(t)

	var letters simhash.LetterReader
	var b Builder
	var planted [][]string // item i is of language i % len(from)
	for i := range items {
		l := from[i%len(from)]
		item := l.Draw(rng)
		planted = append(planted, item)
		if _, err := b.Add(letters.Read(nil, []byte(strings.Join(item, l.Glue)))); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSearcher(b.Build(), Rules{Share: 0.7, Run: 300, Least: 48})
	var form []uint32
	search := func(text string) []Hit {
		form = letters.Read(form[:0], []byte(text))
		return s.Search(form)
	}
	for _, c := range passagetest.Forms() {
		found, all := map[string]int{}, map[string]int{}
		for i, words := range planted {
			host := into[i%len(into)]
			body := host.Text(rng)
			text := host.Plant(rng, body, c.Of(from[i%len(from)], rng, words))
			all[host.Name]++
			if slices.ContainsFunc(search(text), func(h Hit) bool { return h.Item == i }) {
				found[host.Name]++
			}
		}
		for name, n := range all {
			t.Logf("%s, %s: %d of %d found", c.Name, name, found[name], n)
			if float64(found[name]) < c.Least*float64(n) {
				t.Errorf("%s, %s: %d of %d found, want %.2f of them", c.Name, name, found[name], n, c.Least)
			}
		}
	}

	n, bytes := 0, 0
	passagetest.Pieces(t, into, 2048, documents, func(piece string) {
		if hits := search(piece); len(hits) > 0 {
			t.Errorf("a document has %q, %+v of %q", asText(form[hits[0].From:hits[0].To]), hits[0], planted[hits[0].Item])
		}
		n, bytes = n+1, bytes+len(piece)
	})
	t.Logf("%d documents of %d bytes on average have none", n, bytes/n)
}

// What a document of 2 KB costs that has nothing of 2,000 items.
func BenchmarkSearch(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct {
		from *passagetest.Language
		into []string
	}{
		{passagetest.English(passagetest.Texts(b, "en/reuters21578.jsonl.gz", "text", 8000)), passagetest.Texts(b, "html/mixed-dev.truth.jsonl.gz", "text", 1000)},
		{passagetest.Chinese(passagetest.Texts(b, "zh/hk-dev.jsonl.gz", "text", 4887)), passagetest.Texts(b, "zh/blogs.jsonl.gz", "text", 1000)},
	} {
		b.Run(c.from.Name, func(b *testing.B) {
			var letters simhash.LetterReader
			var builder Builder
			for range 2000 {
				if _, err := builder.Add(letters.Read(nil, []byte(strings.Join(c.from.Draw(rng), c.from.Glue)))); err != nil {
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
