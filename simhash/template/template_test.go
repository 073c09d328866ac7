package template

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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

func learn(t testing.TB, o Options, sites, pages int) *Learner {
	t.Helper()
	l, err := NewLearner(o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for page := range pages {
		for site := range sites {
			l.Add(fmt.Appendf(nil, "s%d.example", site), fmt.Appendf(nil, "http://s%d.example/%d", site, page), sitePage(site, page, body(r)))
		}
	}
	return l
}

func TestSuppress(t *testing.T) {
	m := learn(t, Options{}, 3, 60).Model()
	if m.Sites() != 3 {
		t.Fatalf("%d sites", m.Sites())
	}
	own := "这一页自己的话，别处没有。第二句也是。"
	for site := range 3 {
		host := fmt.Appendf(nil, "S%d.example", site)
		got, left := m.Suppress([]byte("before"), host, sitePage(site, 99, own))
		if string(got) != "before"+own+"\n" {
			t.Errorf("%q", got)
		}
		if want := len(sitePage(site, 99, own)) - len(own) - 1; left != want {
			t.Errorf("%d bytes left out, want %d", left, want)
		}
	}
	page := sitePage(1, 5, own)
	for name, host := range map[string]string{"unknown": "other.example", "another site's": "", "no site": ""} {
		if got, left := m.Suppress(nil, []byte(host), page); !bytes.Equal(got, page) || left != 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	bare := sitePage(0, 3, "")
	if got, left := m.Suppress(nil, []byte("s0.example"), bare); !bytes.Equal(got, bare) || left != 0 {
		t.Errorf("nothing but template: %q", got)
	}
	var none *Model
	if got, _ := none.Suppress(nil, []byte("s0.example"), page); !bytes.Equal(got, page) || none.Sites() != 0 || none.Blocks([]byte("x")) != 0 {
		t.Error("a nil model changes something")
	}
}

func TestTooFewPages(t *testing.T) {
	if m := learn(t, Options{}, 2, 19).Model(); m.Sites() != 0 {
		t.Errorf("%d templates of 19 pages", m.Sites())
	}
	if m := learn(t, Options{MinPages: 5}, 2, 5).Model(); m.Sites() != 2 {
		t.Errorf("%d templates of 5 pages", m.Sites())
	}
}

// A site that is one article many times has no template.
func TestCopiesAreNoTemplate(t *testing.T) {
	l, err := NewLearner(Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := body(rand.New(rand.NewPCG(3, 4)))
	for i := range 40 {
		l.Add([]byte("mirror.example"), fmt.Append(nil, i), sitePage(0, i, text))
	}
	if m := l.Model(); m.Sites() != 0 {
		t.Errorf("template of %d blocks", m.Blocks([]byte("mirror.example")))
	}
}

// What is sampled does not depend on order, on the number of learners, or on
// when memory ran short.
func TestLearnerIsIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{MinPages: 2, SiteMax: 4, Pages: rapid.IntRange(4, 12).Draw(t, "pages")}
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
				var err error
				if learners[i], err = NewLearner(o); err != nil {
					t.Fatal(err)
				}
			}
			for n, i := range order {
				learners[n%parts].Add(pages[i].site, pages[i].id, pages[i].text)
			}
			for _, other := range learners[1:] {
				if err := learners[0].Merge(other); err != nil {
					t.Fatal(err)
				}
			}
			if learners[0].pages > o.Pages {
				t.Fatalf("%d pages held", learners[0].pages)
			}
			return fmt.Sprint(learners[0].limit, learners[0].sites)
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
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"首页新闻体育", "own words here", "另有一句自己的话", "footer 2025", "FOOTER 2026", "12 345", ""}), 0, 12).Draw(t, "lines")
		m := &Model{sites: map[uint64][]uint64{siteHash([]byte("s")): nil}}
		for _, l := range []string{"首页新闻体育", "footer 1"} {
			b := block{}
			b.next([]byte(l))
			m.sites[siteHash([]byte("s"))] = append(m.sites[siteHash([]byte("s"))], b.hash>>letterBits)
		}
		slices.Sort(m.sites[siteHash([]byte("s"))])
		text := strings.Join(lines, "\n")
		var want []string
		letters := 0
		for _, l := range lines {
			if l != "首页新闻体育" && !strings.HasPrefix(strings.ToLower(l), "footer") {
				want = append(want, l)
				letters += len(strings.Trim(l, "0123456789 "))
			}
		}
		got, _ := m.Suppress(nil, []byte("s"), []byte(text))
		if letters < 5 { // nothing of its own, or digits alone
			if string(got) != text {
				t.Fatalf("%q became %q", text, got)
			}
			return
		}
		if a, b := strings.Fields(string(got)), strings.Fields(strings.Join(want, "\n")); !slices.Equal(a, b) {
			t.Fatalf("%q became %q, want %q", text, a, b)
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

func TestOptionsCheck(t *testing.T) {
	for _, o := range []Options{{Share: -1}, {Share: 1.1}, {MinPages: 1}, {SiteMax: 10}, {Pages: 5}} {
		if _, err := NewLearner(o); !errors.Is(err, errOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	a, _ := NewLearner(Options{})
	b, _ := NewLearner(Options{Share: 0.7})
	if err := a.Merge(b); !errors.Is(err, errOptions) {
		t.Errorf("merged learners of different options: %v", err)
	}
}

func TestModelBinary(t *testing.T) {
	m := learn(t, Options{}, 5, 25).Model()
	blob, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := back.UnmarshalBinary(blob); err != nil {
		t.Fatal(err)
	}
	again, _ := back.MarshalBinary()
	if !bytes.Equal(blob, again) || back.Sites() != 5 || back.Blocks([]byte("s1.example")) != m.Blocks([]byte("s1.example")) {
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

func TestModelMerge(t *testing.T) {
	newer, older := learn(t, Options{}, 1, 25).Model(), learn(t, Options{MinPages: 5, SiteMax: 6}, 2, 25).Model()
	newer.Merge(nil)
	blocks := newer.Blocks([]byte("s0.example"))
	newer.sites[siteHash([]byte("s0.example"))] = newer.sites[siteHash([]byte("s0.example"))][1:]
	newer.Merge(older)
	if newer.Sites() != 2 || newer.Blocks([]byte("s0.example")) != blocks-1 || newer.Blocks([]byte("s1.example")) == 0 {
		t.Errorf("%d sites", newer.Sites())
	}
	var empty Model
	empty.Merge(older)
	if empty.Sites() != 2 {
		t.Errorf("%d sites in what was empty", empty.Sites())
	}
}

func FuzzUnmarshal(f *testing.F) {
	blob, _ := learn(f, Options{MinPages: 2, SiteMax: 3}, 2, 4).Model().MarshalBinary()
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
	m := learn(f, Options{}, 1, 25).Model()
	f.Add(sitePage(0, 1, "一二三四五六。"))
	f.Add([]byte("\xc2\xbb\xe3\x80\x82|\xef"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, left := m.Suppress(nil, []byte("s0.example"), text)
		if left == 0 && !bytes.Equal(got, text) {
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
	m := learn(b, Options{}, 1, 25).Model()
	r := rand.New(rand.NewPCG(5, 6))
	text := sitePage(0, 1, body(r)+body(r)+body(r)+body(r)+body(r)+body(r))
	var dst []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst, _ = m.Suppress(dst[:0], []byte("s0.example"), text)
	}
}
