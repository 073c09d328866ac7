package simhash

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// plainLetters is ReadLetters by the definition.
func plainLetters(text []byte) []uint32 {
	var all []uint32
	for len(text) > 0 {
		c, size := decodeLetter(text)
		if text = text[size:]; c < endOfLetters && unicode.In(c, unicode.L, unicode.N, unicode.M) {
			all = append(all, uint32(c)+1)
		}
	}
	return all
}

// checkLetters compares what is read, with room for that many letters at a
// time, with the definition, with and without assembly.
func checkLetters(t interface {
	Helper()
	Fatalf(string, ...any)
}, text []byte, room int) {
	t.Helper()
	want := plainLetters(text)
	before := hasWide
	defer func() { hasWide = before }()
	for _, wide := range []bool{before, false} {
		hasWide = wide
		var got []uint32
		block := make([]uint32, room+LetterRoom)
		for rest := text; len(rest) > 0; {
			n, read := ReadLetters(block, rest)
			if read == 0 || n > len(block) {
				t.Fatalf("assembly %t: %d letters of %d bytes of %q", wide, n, read, rest)
			}
			got, rest = append(got, block[:n]...), rest[read:]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("assembly %t: letters of %q are\n%x, want\n%x", wide, text, got, want)
		}
		if n, read := ReadLetters(block[:LetterRoom-1], text); n != 0 || read != 0 {
			t.Fatalf("assembly %t: %d letters without room", wide, n)
		}
	}
}

var textPart = rapid.OneOf(
	rapid.SampledFrom(phrases),
	rapid.SampledFrom([]string{"中文", "ÀÉЖ", "語 言", "a1", ", ", "😀", "𠀀", "\U000e0100", "\xe0\x80\x80", "\xed\xa0\x80", "\xc0\xaf", "\xc1", "\x80", "\xf0\x9f", "\xf8\x88\x80", "\xe4\xb8"}),
	rapid.StringN(0, 20, -1),
	rapid.Map(rapid.IntRange(1, 70), func(n int) string { return strings.Repeat("plain ascii, 16 ", 5)[:n] }),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 5), func(b []byte) string { return string(b) }),
)

func TestReadLetters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(textPart, 0, 100).Draw(t, "text"), "")
		checkLetters(t, []byte(text), rapid.SampledFrom([]int{0, 1, 100, 10_000}).Draw(t, "room"))
	})
	var all []byte
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if c < 0x40000 || c%1009 == 0 {
			all = utf8.AppendRune(all, c)
		}
	}
	for shift := range 3 {
		checkLetters(t, append([]byte("abc")[:shift:shift], all...), 512)
	}
}

func FuzzReadLetters(f *testing.F) {
	f.Add([]byte(goldenText), 100)
	f.Add([]byte("近似重复\x80文档😀的检测\xed\xa0\x80abc"), 0)
	f.Fuzz(func(t *testing.T, text []byte, room int) {
		checkLetters(t, text, min(max(room, 0), 1<<16))
	})
}

// What the splitter takes for no separator is a letter, and the normal form
// has no letter beyond those that are known.
func TestLettersAreWhatDoesNotSeparate(t *testing.T) {
	w := analyzer(t, DefaultOptions()).NewWorkspace()
	for c := range unicode.MaxRune {
		var dst [1 + LetterRoom]uint32
		n, _ := ReadLetters(dst[:], utf8.AppendRune(nil, c))
		letter := n > 0
		if c < endOfLetters {
			if letter != (classOf(c) != classNone) {
				t.Errorf("%U is a letter: %t", c, letter)
			}
		} else if classOf(c) != classNone && len(w.Normalize(nil, utf8.AppendRune(nil, c))) > 0 {
			t.Errorf("%U is in a normal form, and not known as a letter", c)
		}
	}
}

func TestHashLetters(t *testing.T) {
	before := hasWide
	defer func() { hasWide = before }()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.Uint32(), 0, 60).Draw(t, "letters")
		size := rapid.IntRange(0, 20).Draw(t, "size")
		var want []uint64
		for i := 0; size > 0 && i+size <= len(letters); i++ {
			h := uint64(0)
			for _, c := range letters[i : i+size] {
				h = h*letterBase + uint64(c)
			}
			want = append(want, h)
		}
		for _, wide := range []bool{before, false} {
			hasWide = wide
			got := make([]uint64, len(want)+1)
			if n := hashLetters(got, letters, size); n != len(want) || !slices.Equal(got[:n], want) || got[n] != 0 {
				t.Fatalf("assembly %t: hashes of %d letters are %x, want %x", wide, size, got[:n], want)
			}
		}
	})
}
