package simhash

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// placed are what the texts of the test are made of: what combines, what becomes
// nothing, what becomes several characters, and bytes that are no UTF-8.
var placed = []string{"a", "Z", "e\u0301", "\u0301", "。", " ", "漢", "汉", "Ａ", "①", "ﬁ", "\u200b", "\xff", "ｶﾞ", "가", "\u1100\u1161", "😀", "9", "ß", "\n"}

// Where a letter is said to stand, it stands: of the characters from there on the
// letters are those that were asked for, and of fewer they are not all of them.
func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(placed), 1, 30).Draw(t, "text") {
			text += p
		}
		var l LetterReader
		all := l.Read(nil, []byte(text))
		if len(all) == 0 {
			return
		}
		first := rapid.IntRange(0, len(all)-1).Draw(t, "first")
		last := rapid.IntRange(first+1, len(all)).Draw(t, "last")
		c := l.Cursor([]byte(text))
		begin, end := c.Start(first), c.End(last)
		from, to := begin.Character, end.Character
		var starts []int // bytes of the characters
		for i := range text {
			starts = append(starts, i)
		}
		starts = append(starts, len(text))
		if from >= to || to >= len(starts) {
			t.Fatalf("%q: letters %d to %d stand at %d to %d", text, first, last, from, to)
		}
		if begin.Byte != starts[from] || end.Byte != starts[to] {
			t.Fatalf("%q: characters %d and %d at bytes %d and %d", text, from, to, begin.Byte, end.Byte)
		}
		if again := rapid.IntRange(last-1, len(all)-1).Draw(t, "again"); c.Start(again) != l.Cursor([]byte(text)).Start(again) || c.End(again+1) != l.Cursor([]byte(text)).End(again+1) {
			t.Fatalf("%q: letter %d stands elsewhere behind letter %d", text, again, last)
		}
		before := len(l.Read(nil, []byte(text[:starts[from]])))
		until := l.Read(nil, []byte(text[:starts[to]]))
		if before > first || len(until) < last {
			t.Fatalf("%q: letters %d to %d stand at %d to %d, before which are %d and until which %d", text, first, last, from, to, before, len(until))
		}
		if !slices.Equal(until[:last], all[:last]) {
			t.Fatalf("%q: other letters", text)
		}
		r, _ := decode([]byte(text[starts[from+1]:]))
		plain := starts[from+1] < len(text) && simplifiedForms().form(r)&formSlow == 0
		if next := len(l.Read(nil, []byte(text[:starts[from+1]]))); plain && next <= first {
			t.Fatalf("%q: letter %d stands at %d at the earliest, and %d was said", text, first, from+1, from)
		}
	})
}
