package write

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// Each character, and each that is cut off, is counted as its script says.
func TestCharacters(t *testing.T) {
	for r := range rune(0x30000) {
		text := utf8.AppendRune(nil, r)
		isWide := int64(0)
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			isWide = 1
		}
		if wide, others := characters(text); wide != isWide || others != 1-isWide {
			t.Fatalf("%U counts as %d wide and %d others", r, wide, others)
		}
		if cut := text[:len(text)-1]; len(cut) > 0 {
			if wide, others := characters(cut); wide != 0 || others != int64(utf8.RuneCount(cut)) {
				t.Fatalf("%x counts as %d wide and %d others", cut, wide, others)
			}
		}
	}
}
