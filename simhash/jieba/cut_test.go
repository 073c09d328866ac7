package jieba_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/gojieba"
	"github.com/neardup/neardup/simhash/jieba"
)

// The alphabets random text is made of.
var alphabets = [][]rune{
	[]rune("的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"),
	[]rune("龘靐齉爩麤灪龖厵纞虋驫鱻爨癵籱饢鸝麣讞钃矗彠戵彏幑伩佊佉"),
	[]rune("𠀀𠀋𡈽𪚥𫝆𬺰𰀀😀🇨🇳👩‍💻𝔘𐍈\U0010ffff"),
	[]rune("abcxyzABCXYZ0123456789...+#&@-_/"),
	[]rune(" \t\n，。　\r\v\u0085\u00a0\u2028\ufeff"),
	[]rune("、：；！？“”‘’（）《》—…·「」,.:;!?()[]"),
	[]rune("éßñЖдאあアー한글ಠ\u0300\u200d\ufffd\ue000\u07ff\u0800\ud7ff"),
}

// textOf generates text that mixes words of the dictionary with characters of
// all alphabets and with extra words.
func textOf(d *jieba.Dictionary, extra []string) *rapid.Generator[string] {
	common := min(d.Len(), 5000)
	part := rapid.Custom(func(t *rapid.T) string {
		switch k := rapid.IntRange(0, 12).Draw(t, "kind"); {
		case k < len(alphabets):
			return rapid.StringOfN(rapid.SampledFrom(alphabets[k]), 1, 12, -1).Draw(t, "characters")
		case k == len(alphabets) && len(extra) > 0:
			return rapid.SampledFrom(extra).Draw(t, "extra")
		case k == len(alphabets)+1:
			return rapid.StringOfN(rapid.RuneFrom([]rune{0x4e00, 0x9fff, 0x3400, 0x4dbf}), 1, 8, -1).Draw(t, "han")
		case k == len(alphabets)+2:
			r := []rune(d.Word(int32(rapid.IntRange(0, d.Len()-1).Draw(t, "piece"))))
			return string(r[rapid.IntRange(0, len(r)-1).Draw(t, "from"):])
		case k == len(alphabets)+3:
			return d.Word(int32(rapid.IntRange(0, d.Len()-1).Draw(t, "word")))
		}
		return d.Word(int32(rapid.IntRange(0, common-1).Draw(t, "frequent")))
	})
	return rapid.Map(rapid.SliceOfN(part, 0, 40), func(parts []string) string { return strings.Join(parts, "") })
}

// TestRandom compares both segmenters on random text.
func TestRandom(t *testing.T) {
	d, ps := dictionary(t), pairs(t)
	g := textOf(d, []string{"区块链", "蓝翔", "韩玉鉴赏", "云计算", "AT&T", "\xff", "\x00", "\xed\xa0\x80", "\xe4\xb8"})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(g.Draw(t, "text"))
		for _, p := range ps {
			if err := p.compare(text); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestChunks compares both on long text with few or no separators.
func TestChunks(t *testing.T) {
	d, ps := dictionary(t), pairs(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, every := range []int{1, 3, 100, 300, 511, 512, 513, 1023, 1024, 1025, 5000, 1 << 30} {
		var text []byte
		for n := range 6000 {
			if n%every == every-1 {
				text = append(text, "，"...)
				continue
			}
			r, _ := utf8.DecodeRuneInString(d.Word(int32(rng.IntN(20000))))
			text = utf8.AppendRune(text, r)
		}
		for _, p := range ps {
			if err := p.compare(text); err != nil {
				t.Fatalf("a separator every %d characters: %v", every, err)
			}
		}
	}
}

// TestInvalid checks the documented treatment of NUL and invalid bytes: each
// is a word, and separates.
func TestInvalid(t *testing.T) {
	d := dictionary(t)
	for _, hmm := range []bool{true, false} {
		c := d.NewCutter(hmm)
		for _, bad := range []string{"\x00", "\xff", "\x80", "\xc0\xaf", "\xe4\xb8", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80"} {
			left, right := "他来到了网易杭", "研大厦abc"
			text := []byte(left + bad + right)
			want := c.Cut(nil, []byte(left))
			for i := range len(bad) {
				want = append(want, jieba.Word{Start: int32(len(left) + i), End: int32(len(left) + i + 1), ID: -1})
			}
			for _, w := range c.Cut(nil, []byte(right)) {
				w.Start += int32(len(left) + len(bad))
				w.End += int32(len(left) + len(bad))
				want = append(want, w)
			}
			if got := c.Cut(nil, text); !slices.Equal(got, want) {
				t.Errorf("hmm %t, %q: got %v, want %v", hmm, text, got, want)
			}
		}
	}
}

func TestCutAppends(t *testing.T) {
	c := dictionary(t).NewCutter(true)
	first := []jieba.Word{{Start: 7, End: 9, ID: 3}}
	got := c.Cut(first, []byte("中国"))
	if len(got) != 2 || got[0] != first[0] || got[1].End != 6 {
		t.Errorf("got %v", got)
	}
	if got := c.Cut(nil, nil); len(got) != 0 {
		t.Errorf("empty text: %v", got)
	}
}

// Codes and the offsets of their characters are cut as the text is.
func TestCutCodes(t *testing.T) {
	d := dictionary(t)
	g := textOf(d, nil)
	long := strings.Repeat("杭研大厦的", 400)
	rapid.Check(t, func(t *rapid.T) {
		text := g.Draw(t, "text")
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			text += long + text
		}
		var codes []uint16
		var at []int32
		for i, r := range text {
			codes, at = append(codes, d.Code(r)), append(at, int32(i))
		}
		at = append(at, int32(len(text)))
		for _, hmm := range []bool{true, false} {
			c := d.NewCutter(hmm)
			if got, want := c.CutCodes(nil, codes, at), c.Cut(nil, []byte(text)); !slices.Equal(got, want) {
				t.Fatalf("hmm %t: %q: got %v, want %v", hmm, text, got, want)
			}
		}
	})
	for _, code := range []rune{'的', '龘', -1, 0, 0x10ffff, '。'} {
		if d.Code(code) >= jieba.MaxCode {
			t.Errorf("%q has the code %d", code, d.Code(code))
		}
	}
}

func FuzzCut(f *testing.F) {
	for _, seed := range []string{
		"", "我来到北京清华大学", "小明硕士毕业于中国科学院计算所，后在日本京都大学深造。",
		"iPhone 15 Pro卖7999.00元/台\t真的！", "𠀀𠀀区块链😀\x00\xff蓝翔", "、：杭研“杭研”",
		strings.Repeat("研", 600), "AT&T c# B超 3.14.15", "\xed\xa0\x80\xe4\xb8\xad\xe4\xb8",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, p := range pairs(t) {
			if err := p.compare(text); err != nil {
				t.Fatal(err)
			}
			for _, w := range p.got {
				if id, ok := p.d.Lookup(text[w.Start:w.End]); id != w.ID || ok != (id >= 0) {
					t.Fatalf("word %q has ID %d, Lookup says %d", text[w.Start:w.End], w.ID, id)
				}
			}
		}
	})
}

func TestCutAllocations(t *testing.T) {
	d := dictionary(t)
	text := []byte(strings.Repeat("他来到了网易杭研大厦，iPhone 15卖7999.00元、“杭研”😀。", 50))
	for _, hmm := range []bool{true, false} {
		c := d.NewCutter(hmm)
		words := c.Cut(nil, text)
		if n := testing.AllocsPerRun(100, func() { words = c.Cut(words[:0], text) }); n != 0 {
			t.Errorf("hmm %t: %v allocations", hmm, n)
		}
	}
}

// TestConcurrent shares a dictionary between cutters of several goroutines.
func TestConcurrent(t *testing.T) {
	d := dictionary(t)
	g := textOf(d, nil)
	var docs [][]byte
	for seed := range 40 {
		docs = append(docs, []byte(g.Example(seed)))
	}
	want := make([][]jieba.Word, len(docs))
	for i, doc := range docs {
		want[i] = d.NewCutter(true).Cut(nil, doc)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c := d.NewCutter(true)
			for i, doc := range docs {
				if got := c.Cut(nil, doc); !slices.Equal(got, want[i]) {
					t.Errorf("document %d differs", i)
				}
				for _, w := range want[i] {
					d.IDF(w.ID)
					d.Word(w.ID)
				}
			}
		})
	}
	wg.Wait()
}

// userDictionaries are the dictionaries TestUserWords loads into both.
func userDictionaries(d *jieba.Dictionary) map[string][]jieba.UserWord {
	rng := rand.New(rand.NewPCG(3, 4))
	var many []jieba.UserWord
	for range 3000 {
		var w strings.Builder
		for range 1 + rng.IntN(3) {
			w.WriteString(d.Word(int32(rng.IntN(d.Len()))))
		}
		u := jieba.UserWord{Text: w.String(), Tag: []string{"", "n", "new", "x y"}[rng.IntN(4)]}
		if strings.ContainsAny(u.Text, "\t，。 ") {
			continue
		}
		if rng.IntN(2) == 0 {
			u.Weight = 1 + rng.IntN(1<<rng.IntN(31))
		}
		many = append(many, u)
	}
	return map[string][]jieba.UserWord{
		"few": {
			{Text: "的"}, {Text: "研"}, {Text: "𠀀"}, {Text: "，"}, {Text: "😀了"}, {Text: "他来", Weight: 100000000},
			{Text: "北京清华大学", Tag: "nt"}, {Text: "北京清华大学", Weight: 1, Tag: "later"}, {Text: "iPhone 15"[:6]},
			{Text: "\r"}, {Text: "中国", Weight: 1}, {Text: strings.Repeat("一二", jieba.MaxWordLength/2)},
		},
		"many": many,
	}
}

// TestUserWords compares both with the same user dictionaries; TestRandom does
// without one.
func TestUserWords(t *testing.T) {
	if testing.Short() {
		t.Skip("each set of words is a dictionary to load, for either segmenter")
	}
	base := dictionary(t)
	for name, words := range userDictionaries(base) {
		t.Run(name, func(t *testing.T) {
			d, err := base.WithUserWords(words)
			if err != nil {
				t.Fatal(err)
			}
			s, err := gojieba.New(d)
			if errors.Is(err, gojieba.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var extra []string
			for _, w := range words {
				extra = append(extra, w.Text)
			}
			extra = append(extra, "区块链", "蓝翔", "韩玉鉴赏", "他来到了网易杭研大厦的北京清华大学", "中国人", strings.Repeat("一二", 300))
			ps := []*pair{
				{d: d, ours: d.NewCutter(true), theirs: s, hmm: true},
				{d: d, ours: d.NewCutter(false), theirs: s},
			}
			g := textOf(d, extra)
			rapid.Check(t, func(t *rapid.T) {
				text := []byte(g.Draw(t, "text"))
				for _, p := range ps {
					if err := p.compare(text); err != nil {
						t.Fatal(err)
					}
				}
			})
			for _, e := range extra {
				for _, p := range ps {
					if err := p.compare(bytes.Repeat([]byte(e), 3)); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
