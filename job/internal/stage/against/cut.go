package against

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/simhash/passage"
)

// widen returns what the clean dump leaves out of a text, in order, given what of it a
// reference has: with the rest of the word that a stretch begins or ends in, marks that
// follow it, and quotes and brackets that it opens with. Stretches that touch are one.
func widen(cuts []clean.Stretch, text []byte) []clean.Stretch {
	slices.SortFunc(cuts, func(a, b clean.Stretch) int { return cmp.Compare(a.From, b.From) })
	n := 0
	for _, c := range cuts {
		c = widened(text, c)
		if n > 0 && c.From <= cuts[n-1].To {
			cuts[n-1].To = max(cuts[n-1].To, c.To)
			continue
		}
		cuts[n] = c
		n++
	}
	return cuts[:n]
}

// widened is a stretch with what belongs to it.
func widened(text []byte, s clean.Stretch) clean.Stretch {
	first, _ := utf8.DecodeRune(text[s.From:])
	last, _ := utf8.DecodeLastRune(text[:s.To])
	for s.From > 0 && alphabetic(first) {
		c, size := utf8.DecodeLastRune(text[:s.From])
		if !alphabetic(c) {
			break
		}
		s.From -= size
	}
	for s.From > 0 {
		c, size := utf8.DecodeLastRune(text[:s.From])
		if !unicode.In(c, unicode.Ps, unicode.Pi) && c != '"' && c != '\'' {
			break
		}
		s.From -= size
	}
	for s.To < len(text) && alphabetic(last) {
		c, size := utf8.DecodeRune(text[s.To:])
		if !alphabetic(c) {
			break
		}
		s.To += size
	}
	for s.To < len(text) {
		c, size := utf8.DecodeRune(text[s.To:])
		if !unicode.IsPunct(c) || unicode.In(c, unicode.Ps, unicode.Pi) {
			break
		}
		s.To += size
	}
	return s
}

// alphabetic reports whether a character is part of a word that spaces divide from others.
func alphabetic(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsDigit(c)) && c != utf8.RuneError && passage.Weight(uint32(c)+1) == 1
}
