package against

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/simhash/passage"
)

// appendCuts appends what the clean dump leaves out of a text to cuts: the stretches of
// its hits in order, those that overlap as one. To a stretch belong the rest of the word
// that it begins or ends in, marks that follow it, and quotes and brackets that it opens
// with.
func appendCuts(cuts []clean.Stretch, text []byte, hits []data.AgainstRow) []clean.Stretch {
	type place struct{ from, to int64 } // characters
	places := make([]place, len(hits))
	for i := range hits {
		places[i] = place{hits[i].From, hits[i].To}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	at, character := 0, int64(0) // a byte, and how many characters are before it
	seek := func(to int64) int {
		for ; character < to && at < len(text); character++ {
			_, size := utf8.DecodeRune(text[at:])
			at += size
		}
		return at
	}
	for len(places) > 0 {
		p := places[0]
		places = places[1:]
		for len(places) > 0 && places[0].from <= p.to {
			p.to = max(p.to, places[0].to)
			places = places[1:]
		}
		c := widened(text, clean.Stretch{From: seek(p.from), To: seek(p.to)})
		if n := len(cuts); n > 0 && c.From <= cuts[n-1].To {
			cuts[n-1].To = max(cuts[n-1].To, c.To)
			continue
		}
		cuts = append(cuts, c)
	}
	return cuts
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
