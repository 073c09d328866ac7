package simhash

import (
	"bytes"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// normalForm is the definition of the normal form, word for word.
func normalForm(text []byte, simplify map[rune]rune) string {
	var runes []rune
	for _, r := range string(text) {
		if !ignorable(r) {
			runes = append(runes, r)
		}
	}
	runes = []rune(norm.NFKC.String(string(runes)))
	for i, r := range runes {
		runes[i] = unicode.ToLower(r)
	}
	runes = []rune(norm.NFKC.String(string(runes)))
	for i, r := range runes {
		if r == '’' || r == 'ʼ' {
			runes[i] = '\''
		} else if to, ok := simplify[r]; ok {
			runes[i] = to
		}
	}
	return string(runes)
}

// interesting are characters that do something under normalisation, or next
// to others.
var interesting = []rune("aAzZ09 ~\x00\x01\u00ad\u00a0éÉİıßẞŉǅΣσς’ʼ…，。Ａｚｶﾞﾊﾟガㄱㅏ각ᅠ가각각한︀\ufe0f\u200b\u200d\ufeff\u0301\u0300\u0327\u0338\u0345\u0653\u0654\u09be\u0dcf\u1161\u11a8\u3099\u309a一乾著龍龙萬鿿豈﨑𠀀𪜀𠁞🤔👍🏽①㎏½ﬁﷺ\u2126\u212b\u0f73\u0f71\u0e33\u0eb3ำกกิ\U0001d15e\U0001d165\U0001f1e6\U000e0041\ufffd\u1e9b\u0323")

func checkNormal(t interface{ Fatalf(string, ...any) }, text []byte) {
	var s scratch
	for name, table := range map[string]*formTable{"traditional": traditionalForms(), "simplified": simplifiedForms()} {
		got := table.append([]byte("x"), text, &s)
		if want := "x" + normalForm(text, table.simplify); string(got) != want {
			t.Fatalf("%s form of %q:\n got %q\nwant %q", name, text, got, want)
		}
	}
}

func TestNormalForm(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Hello, WORLD", "hello, world"},
		{"ＨＥＬＬＯ　世界！", "hello 世界!"},
		{"Don’t", "don't"},
		{"e\u0301\u00ad\u200bX", "éx"},
		{"ｶﾞｷﾞ", "ガギ"},
		{"a\x00b\xffc", "ab\ufffdc"},
		{"㎏…", "kg..."},
		{"萬里長城", "万里长城"},
	} {
		var s scratch
		if got := simplifiedForms().append(nil, []byte(c.text), &s); string(got) != c.want {
			t.Errorf("normal form of %q: got %q, want %q", c.text, got, c.want)
		}
		checkNormal(t, []byte(c.text))
	}
}

// Every character alone, after a letter, before a mark, and between two; of
// ideographs and Hangul syllables, which are all alike, some.
func TestNormalFormOfEveryCharacter(t *testing.T) {
	step := rune(1)
	if testing.Short() {
		step = 7
	}
	for r := rune(0); r < 0xe1000; r += step {
		switch {
		case unicode.Is(unicode.Unified_Ideograph, r):
			r += 30
		case r >= 0xac00 && r <= 0xd7a3:
			r += 12
		case r > 0x3ffff && r < 0xe0000:
			r = 0xe0000
		case r >= 0x20000 && r < 0x3ffff && !unicode.IsLetter(r):
			r += 100
		}
		s := string(r)
		checkNormal(t, []byte(s+"b"+s+"\u0301"+"가"+s+s+"\u3099一"+s))
	}
}

func TestNormalFormProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(string(rapid.SliceOfN(rapid.SampledFrom(interesting), 0, 40).Draw(t, "text")))
		for _, b := range rapid.SliceOfN(rapid.Uint16(), 0, 3).Draw(t, "broken bytes") {
			if len(text) > 0 {
				text[int(b>>8)%len(text)] = byte(b)
			}
		}
		checkNormal(t, text)
	})
}

func FuzzNormalForm(f *testing.F) {
	f.Add([]byte(string(interesting)))
	f.Add(bytes.Repeat([]byte("e\u0301\u0327"), 40))
	f.Add(bytes.Repeat([]byte("\u0301\u0327"), 40))
	f.Add([]byte("Abcdefgh\u0301ABCDEFG\x00Hijklmnop"))
	f.Fuzz(func(t *testing.T, text []byte) {
		checkNormal(t, text)
		if !utf8.Valid(traditionalForms().append(nil, text, new(scratch))) {
			t.Fatalf("normal form of %q is not UTF-8", text)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	chinese := bytes.Repeat([]byte("近似重复文档的检测，是网页去重的基础。它把每个文档变成一个指纹，再比较指纹之间的距离；Manku 等人在 2007 年这样做。\n"), 40)
	english := bytes.Repeat([]byte("Near-duplicate documents are found by comparing their fingerprints, as Manku et al. did in 2007.\n"), 40)
	for _, c := range []struct {
		name string
		text []byte
		form *formTable
	}{
		{"chinese", chinese, traditionalForms()},
		{"chinese-simplify", chinese, simplifiedForms()},
		{"english", english, traditionalForms()},
	} {
		b.Run(c.name, func(b *testing.B) {
			var s scratch
			var dst []byte
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				dst = c.form.append(dst[:0], c.text, &s)
			}
		})
	}
}
