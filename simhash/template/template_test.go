package template

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// sitePage is a page of a site with a menu, a counter and a footer.
func sitePage(site, page int, body string) []byte {
	return fmt.Appendf(nil, "首页 | 新闻%c | 体育 | 关于我们\n您是第 %d 位访客\n%s\n版权所有 第%c号网站。未经许可不得转载！\n", 'A'+site, 1000+7*page, body, 'A'+site)
}

var syllables = strings.Fields("天 地 人 山 水 风 云 雨 木 火 土 金 日 月 星 花 鸟 鱼 虫 江 河 湖 海 路")

func body(r *rand.Rand) string {
	var b strings.Builder
	for range 5 {
		for range 12 + r.IntN(12) {
			b.WriteString(syllables[r.IntN(len(syllables))])
		}
		b.WriteString("。")
	}
	return b.String()
}

func learn(sites, pages int) *Learner { return learnFrom(MinPages, sites, pages) }

// learnFrom learns of sites of at least so many pages.
func learnFrom(least, sites, pages int) *Learner {
	l := NewLearner()
	l.least = least
	r := rand.New(rand.NewPCG(1, 2))
	for page := range pages {
		for site := range sites {
			l.Add(fmt.Appendf(nil, "s%d.example", site), fmt.Appendf(nil, "http://s%d.example/%d", site, page), sitePage(site, page, body(r)))
		}
	}
	return l
}

func blocks(m *Model, site string) int {
	n, _ := m.Site([]byte(site))
	return n
}

func TestSuppress(t *testing.T) {
	m := learn(3, 60).Model()
	if n, pages := m.Site([]byte("s1.example")); m.Sites() != 3 || n == 0 || pages != 60 {
		t.Fatalf("%d sites, %d blocks of %d pages", m.Sites(), n, pages)
	}
	own := "这一页自己的话，别处没有。第二句也是。"
	for site := range 3 {
		host := fmt.Appendf(nil, "S%d.example", site)
		got, left := m.Suppress([]byte("before"), host, sitePage(site, 99, own))
		if string(got) != "before"+own+"\n" {
			t.Errorf("%q", got)
		}
		if want := utf8.RuneCount(sitePage(site, 99, own)) - utf8.RuneCountInString(own) - 1; left != (Left{Characters: want}) {
			t.Errorf("%v left out, want %d", left, want)
		}
	}
	page := sitePage(1, 5, own)
	for name, host := range map[string]string{"unknown": "other.example", "no site": ""} {
		if got, left := m.Suppress(nil, []byte(host), page); !bytes.Equal(got, page) || left != (Left{}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	bare := sitePage(0, 3, "")
	if _, left := m.Suppress(nil, []byte("s0.example"), bare); !left.All {
		t.Errorf("nothing but template: %v", left)
	}
	var none *Model
	if got, _ := none.Suppress(nil, []byte("s0.example"), page); !bytes.Equal(got, page) || none.Sites() != 0 || blocks(none, "x") != 0 {
		t.Error("a nil model changes something")
	}
}

func TestTooFewPages(t *testing.T) {
	if m := learn(2, 19).Model(); m.Sites() != 0 {
		t.Errorf("%d templates of 19 pages", m.Sites())
	}
	if m := learnFrom(5, 2, 5).Model(); m.Sites() != 2 {
		t.Errorf("%d templates of 5 pages", m.Sites())
	}
}

// A site that is one article many times has no template.
func TestCopiesAreNoTemplate(t *testing.T) {
	l := NewLearner()
	text := body(rand.New(rand.NewPCG(3, 4)))
	for i := range 40 {
		l.Add([]byte("mirror.example"), fmt.Append(nil, i), sitePage(0, i, text))
	}
	if m := l.Model(); m.Sites() != 0 {
		t.Errorf("template of %d blocks", blocks(m, "mirror.example"))
	}
}

// What is sampled does not depend on order, on the number of learners, or on
// when memory ran short.
func TestLearnerIsIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, room := rapid.SampledFrom([]int{4, 200}).Draw(t, "of a site"), rapid.IntRange(4, 12).Draw(t, "pages")
		type shown struct{ site, id, text []byte }
		pages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) shown {
			return shown{
				[]byte(rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "site")),
				fmt.Append(nil, rapid.IntRange(0, 30).Draw(t, "id")),
				[]byte(rapid.StringOfN(rapid.SampledFrom([]rune("xy|文。")), 0, 12, -1).Draw(t, "text")),
			}
		}), 0, 60).Draw(t, "all")
		build := func(order []int, parts int) string {
			learners := make([]*Learner, parts)
			for i := range learners {
				learners[i] = NewLearner()
				learners[i].siteMax, learners[i].room = most, room
			}
			for n, i := range order {
				learners[n%parts].Add(pages[i].site, pages[i].id, pages[i].text)
			}
			for _, other := range learners[1:] {
				learners[0].Merge(other)
			}
			if learners[0].pages > room {
				t.Fatalf("%d pages held", learners[0].pages)
			}
			sample, err := learners[0].MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			return string(sample)
		}
		order := make([]int, len(pages))
		for i := range order {
			order[i] = i
		}
		want := build(order, 1)
		shuffled := rapid.Permutation(order).Draw(t, "order")
		if got := build(shuffled, rapid.IntRange(1, 3).Draw(t, "parts")); got != want {
			t.Fatal("another order, another sample")
		}
	})
}

// Suppress against the text split by a slow obvious way.
func TestSuppressKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"首页新闻体育", "own words here", "另有一句自己的话", "footer 2025", "FOOTER 2026", "12 345", "page 7", "page 8", ""}), 0, 12).Draw(t, "lines")
		var set []uint64
		for _, l := range []string{"首页新闻体育", "footer 1"} {
			b := block{}
			b.next([]byte(l))
			set = append(set, b.hash>>letterBits)
		}
		b := block{}
		b.next([]byte("page 7"))
		set = append(set, b.exact>>letterBits)
		slices.Sort(set)
		m := &Model{sites: map[uint64]*site{siteHash([]byte("s")): newSite(60, set)}}
		text := strings.Join(lines, "\n")
		var want []string
		letters := 0
		for _, l := range lines {
			if l != "首页新闻体育" && l != "page 7" && !strings.HasPrefix(strings.ToLower(l), "footer") {
				want = append(want, l)
				letters += len([]rune(strings.Trim(l, "0123456789 ")))
			}
		}
		got, left := m.Suppress(nil, []byte("s"), []byte(text))
		if left.All != (left.Characters > 0 && letters < 5) {
			t.Fatalf("%q: %v, %d letters", text, left, letters)
		}
		if a, b := strings.Fields(string(got)), strings.Fields(strings.Join(want, "\n")); !slices.Equal(a, b) {
			t.Fatalf("%q became %q, want %q", text, a, b)
		}
	})
}

// A footer of one section is of the template though few of a site's pages have
// it, with the digits that they share; a story that many pages repeat is not.
func TestShareOfAMinority(t *testing.T) {
	l := NewLearner()
	r := rand.New(rand.NewPCG(5, 6))
	story := body(r)
	add := func(i int, text string) { l.Add([]byte("s"), fmt.Append(nil, i), []byte(text)) }
	for i := range 400 { // more than half of them are sampled
		switch {
		case i < 40:
			add(i, body(r)+"\n本栏目由某某基金会支持，电话 8123 4567\n")
		case i < 80:
			add(i, strings.Replace(story, "天", syllables[i%len(syllables)], 1)+fmt.Sprintf("\n第 %d 版\n", i))
		case i < 120:
			add(i, fmt.Sprintf("每股 %d 分，去年同期 %d 分\n", i, 2*i)+body(r))
		default:
			add(i, body(r))
		}
	}
	m := l.Model()
	for text, want := range map[string]bool{
		"本栏目由某某基金会支持，电话 8123 4567\n": true,
		"本栏目由某某基金会支持，电话 8123 9999\n": false,
		"每股 6 分，去年同期 8 分\n":          false,
	} {
		if _, left := m.Suppress(nil, []byte("s"), []byte("自己的话自己的话\n"+text)); (left.Characters > 0) != want {
			t.Errorf("%s: %v", text, left)
		}
	}
	if _, left := m.Suppress(nil, []byte("s"), []byte(story)); left.Characters > 0 {
		t.Errorf("of the story: %v", left)
	}
}

// Versions of one text share most of their blocks, and each has edits of its
// own: none of it is a template.
func TestVersionsAreNoTemplate(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	text := []rune(body(r) + body(r) + body(r) + body(r))
	l := NewLearner()
	for i := range 40 {
		version := slices.Clone(text)
		for range 8 {
			version[r.IntN(len(version))] = []rune(syllables[r.IntN(len(syllables))])[0]
		}
		l.Add(nil, fmt.Append(nil, i), []byte(string(version)))
	}
	if n := blocks(l.Model(), ""); n > 0 {
		t.Errorf("%d blocks of %d", n, 20)
	}
}

// What is kept of a page's shingles are the smallest of a sample, each once, whatever
// the blocks that they come in.
func TestFewest(t *testing.T) {
	var f fewest
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(strings.Split("a B 7 é 。 地 天 \xe5 \x80", " ")), 0, 400), 1, 8).Draw(t, "blocks")
		var want []shingle
		f.reset()
		for block, pieces := range blocks {
			text := []byte(strings.Join(pieces, ""))
			f.add(uint32(block), text)
			var letters []uint64
			for i := 0; i < len(text); {
				c, kind := uint64(text[i]|0x20), kinds[text[i]]
				if i++; kind != letter && kind != lead && kind != wide {
					continue
				}
				for ; kind != letter && i < len(text) && kinds[text[i]] == follow; i++ {
					c = c<<8 | uint64(text[i])
				}
				letters = append(letters, c)
			}
			for i := 0; i+shingleLetters <= len(letters); i++ {
				h := uint64(0)
				for _, c := range letters[i : i+shingleLetters] {
					h = h*hashPrime + c
				}
				if s := mix(h); s%shingleSample == 0 {
					want = append(want, shingleOf(uint32(s>>32), uint32(block)))
				}
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if got := f.sorted(); !slices.Equal(got, want[:min(len(want), pageShingles)]) {
			t.Fatalf("%d shingles, want the smallest of %d: %x, %x", len(got), len(want), got, want)
		}
	})
}

func TestSite(t *testing.T) {
	for id, want := range map[string]string{
		"http://www.Example.com/a?b://c":     "www.Example.com",
		"https://user:pw@example.com:8080/x": "example.com",
		"http://[2001:db8::1]:80/":           "[2001:db8::1]",
		"http://[broken":                     "[broken",
		"http://h?q":                         "h",
		"doc17":                              "",
		"://x":                               "",
		"":                                   "",
	} {
		if got := string(Site([]byte(id))); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestModelBinary(t *testing.T) {
	m := learn(5, 25).Model()
	blob, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := back.UnmarshalBinary(blob); err != nil {
		t.Fatal(err)
	}
	again, _ := back.MarshalBinary()
	if !bytes.Equal(blob, again) || back.Sites() != 5 || blocks(&back, "s1.example") != blocks(m, "s1.example") {
		t.Error("what is read back is another model")
	}
	for i := range blob {
		damaged := slices.Clone(blob)
		damaged[i] ^= 0x10
		if err := back.UnmarshalBinary(damaged); !errors.Is(err, errDamaged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if err := back.UnmarshalBinary(blob[:i]); !errors.Is(err, errDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestSampleBinary(t *testing.T) {
	whole, _ := learn(3, 40).MarshalBinary()
	l := NewLearner()
	if err := l.AddSample(whole); err != nil {
		t.Fatal(err)
	}
	if again, _ := l.MarshalBinary(); !bytes.Equal(whole, again) {
		t.Error("what is read back is another sample")
	}
	for i := range whole {
		if err := l.AddSample(whole[:i]); !errors.Is(err, errDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestModelMerge(t *testing.T) {
	first, second := learn(1, 25).Model(), learnFrom(5, 2, 30).Model()
	first.Merge(nil)
	n := blocks(first, "s0.example")
	s := first.sites[siteHash([]byte("s0.example"))]
	s.blocks = append([]uint64{0}, s.blocks[1:]...)
	first.Merge(second)
	if _, pages := first.Site([]byte("s0.example")); first.Sites() != 2 || blocks(first, "s0.example") != n+1 || pages != 30 || blocks(first, "s1.example") == 0 {
		t.Errorf("%d sites, %d blocks of %d pages", first.Sites(), blocks(first, "s0.example"), pages)
	}
	var empty Model
	empty.Merge(second)
	if empty.Sites() != 2 {
		t.Errorf("%d sites in what was empty", empty.Sites())
	}
}

func FuzzUnmarshal(f *testing.F) {
	blob, _ := learnFrom(2, 2, 4).Model().MarshalBinary()
	f.Add(blob)
	f.Fuzz(func(t *testing.T, blob []byte) {
		var m Model
		if m.UnmarshalBinary(blob) == nil {
			if again, _ := m.MarshalBinary(); !bytes.Equal(again, blob) {
				t.Fatal("the model reads back as another")
			}
		}
	})
}

func FuzzSuppress(f *testing.F) {
	m := learn(1, 25).Model()
	f.Add(sitePage(0, 1, "一二三四五六。"))
	f.Add([]byte("\xc2\xbb\xe3\x80\x82|\xef"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, left := m.Suppress(nil, []byte("s0.example"), text)
		if left.Characters == 0 && !bytes.Equal(got, text) {
			t.Fatal("nothing left out, and changed")
		}
		if len(got) > len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(got))
		}
		n := 0
		for b := (block{}); b.next(text); {
			if b.start != n || b.end <= b.start {
				t.Fatalf("block from %d to %d after %d", b.start, b.end, n)
			}
			n = b.end
		}
		if n != len(text) {
			t.Fatalf("blocks end at %d of %d", n, len(text))
		}
	})
}

func BenchmarkSuppress(b *testing.B) {
	m := learn(1, 25).Model()
	r := rand.New(rand.NewPCG(5, 6))
	text := sitePage(0, 1, body(r)+body(r)+body(r)+body(r)+body(r)+body(r))
	var dst []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst, _ = m.Suppress(dst[:0], []byte("s0.example"), text)
	}
}

// Pages of an earlier night add to those of a site of too few, each in its
// newest version, and make the template that they make together.
func TestHistoryPages(t *testing.T) {
	page := func(i int, version string) (id, text []byte) {
		own := ""
		for j := range 12 {
			own += fmt.Sprintf("word%c%c ", 'a'+i, 'a'+j)
		}
		return fmt.Appendf(nil, "http://a.example/%d", i), []byte("Home | News | Contact\n" + own + version + "\nAll rights reserved\n")
	}
	learn := func(from, to int, version string) *Learner {
		l := NewLearner()
		for i := from; i < to; i++ {
			id, text := page(i, version)
			l.Add(Site(id), id, text)
		}
		return l
	}
	type kept struct{ id, page []byte }
	few := func(l *Learner, m *Model) (all []kept) {
		err := l.Few(m, func(id, page []byte) error {
			all = append(all, kept{bytes.Clone(id), bytes.Clone(page)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	together := learn(0, 24, "").Model()
	if got := few(learn(0, 24, ""), new(Model)); len(got) > 0 || together.Sites() != 1 {
		t.Errorf("of a site that has enough pages %d were kept", len(got))
	}
	if got := few(learn(0, 8, ""), together); len(got) > 0 {
		t.Errorf("of a site that has a template %d were kept", len(got))
	}
	earlier := few(learn(0, 16, ""), new(Model))
	current := learn(12, 24, "")
	for i, p := range earlier {
		id := -1
		if _, err := fmt.Sscanf(string(p.id), "http://a.example/%d", &id); err != nil {
			t.Fatal(err)
		}
		added, err := current.AddHistory(p.id, p.page)
		if err != nil || added != (id < 12) {
			t.Errorf("page %d of %s was added: %t, %v", i, p.id, added, err)
		}
	}
	got, err := current.Model().MarshalBinary()
	want, err2 := together.MarshalBinary()
	if err != nil || err2 != nil || len(earlier) != 16 || !bytes.Equal(got, want) {
		t.Errorf("%v, %v: of %d pages %x, of all at once %x", err, err2, len(earlier), got, want)
	}
	other := learn(12, 14, "")
	if added, err := other.AddHistory([]byte("http://b.example/1"), earlier[0].page); added || err != nil {
		t.Errorf("a page of a site that was not sampled was added: %t, %v", added, err)
	}
	for n := range earlier[0].page {
		if _, err := other.AddHistory(earlier[0].id, earlier[0].page[:n]); !errors.Is(err, errDamaged) {
			t.Fatalf("the first %d bytes of a page: %v", n, err)
		}
	}
}

// The note of a column on a hundredth of a large site's pages is of its template;
// what the versions of one story repeat is theirs.
func TestBlocksOfSections(t *testing.T) {
	const note, lead = "作者是本报专栏作者，每周一见报。", "今天清晨六时三十分，河上的大桥已经通车。"
	site := []byte("news.example")
	r := rand.New(rand.NewPCG(3, 4))
	l := NewLearner()
	story := body(r)
	for page := range 1500 {
		text := body(r)
		switch page % 100 {
		case 0:
			text += "\n" + note
		case 1:
			text = lead + "\n" + story + body(r)[:30]
		}
		l.Add(site, fmt.Appendf(nil, "http://news.example/%d", page), sitePage(0, page, text))
	}
	own, _ := l.Model().Suppress(nil, site, sitePage(0, 7, "一段话。\n"+note+"\n"+lead))
	if got := string(own); strings.Contains(got, "专栏作者") || !strings.Contains(got, lead) {
		t.Errorf("own text: %q", got)
	}
}
