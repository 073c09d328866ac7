package sketch

import (
	"slices"
	"unicode"
)

// Alignment compares texts by their letters, digits and marks in order: by the
// edits that make the one of the other.
//
// An Alignment holds a buffer; one goroutine uses it at a time.
type Alignment struct {
	reached []int16 // by a stretch
	most    int     // edits that it may have
	a, b    []rune
}

// Edited is how two texts differ: the edits that make the one of the other, in
// how many pieces between characters that stay, and how many digits and Chinese
// numerals they take and bring.
type Edited struct {
	Edits  int `json:"edits"`
	Pieces int `json:"pieces"`
	Digits int `json:"digits"`
}

// Edits are slips, as a reader of print or a typist makes them, when they are no
// more than mostEdits, a seventh of the longer text; when those between two
// characters that stay are maxPiece on average at most; and when there are
// slipsDigit of them at least for every digit or numeral that they take or bring.
// What makes another text of a form, another date, name or amount, is edited in
// a piece.
//
// One of two long texts is a revision of the other when the edits are
// revisedShare of the longer one at most, and revisedDigit for every digit at
// least: texts of one form differ in numbers, tables above all.
const (
	maxPiece     = 1.7
	slipsDigit   = 3
	revisedShare = 0.4
	revisedDigit = 5
)

// Texts are aligned a stretch of stretchMax characters at a time. What is aligned
// is kept up to the middle, where what follows no longer matters.
const stretchMax = 256

// bounds are those of an alignment, beyond which it ends: most edits in all, and
// in a stretch no more than lead, and one more for each letters that it got on.
type bounds struct{ most, lead, letters int }

// slips gives the verdict on two texts of more than fewMax characters: whether
// they differ by slips alone; and how they differ, if so. Of long texts, of more
// than ShortMax characters, one may go on beyond the other at its end or its
// beginning, by half of the other's length at most: a footer. It does not depend on the order of the two, takes time for the
// length and no more memory for a longer text.
func (s *Alignment) slips(a, b []rune) (v Verdict, e Edited) {
	if before(b, a) {
		a, b = b, a // of equally short ways the same, whatever the order
	}
	long := len(b) > ShortMax
	limit := bounds{mostEdits(len(b)), 12, 4}
	if long {
		limit.most = mostEdits(len(a))
	}
	if !withinHalf(len(a), len(b)) {
		return Verdict{Reason: ReasonShortUnlike}, Edited{}
	}
	e = s.align(a, b, limit, long)
	if e.Edits > limit.most && long && len(b)-len(a) > limit.lead {
		s.a, s.b = append(s.a[:0], a...), append(s.b[:0], b...)
		slices.Reverse(s.a)
		slices.Reverse(s.b)
		e = s.align(s.a, s.b, limit, long)
	}
	switch {
	case e.Edits > limit.most:
		return Verdict{Reason: ReasonShortUnlike}, Edited{}
	case slipsDigit*e.Digits > e.Edits:
		return Verdict{Reason: reasonShortNumber}, Edited{}
	case float64(e.Edits) > maxPiece*float64(e.Pieces):
		return Verdict{Reason: reasonShortWord}, Edited{}
	}
	return Verdict{Same: true, Reason: ReasonShortAlike}, e
}

// withinHalf reports whether the longer of two texts is longer by half at most.
func withinHalf(shorter, longer int) bool { return 2*longer <= 3*shorter }

// revised reports whether one of two texts is a revision of the other, and how
// they differ, if so. It is as Slips in the rest.
func (s *Alignment) revised(a, b []rune) (ok bool, e Edited) {
	if before(b, a) {
		a, b = b, a
	}
	limit := bounds{int(revisedShare * float64(len(b))), stretchMax / 2, 2}
	e = s.align(a, b, limit, false)
	if e.Edits > limit.most || revisedDigit*e.Digits > e.Edits {
		return false, Edited{}
	}
	return true, e
}

// align returns how a and b differ, to the end of both or, if either end will
// do, to that of a: by the fewest edits if both fit in a stretch, else by hardly
// more. Beyond the bounds it says no more than that the edits are more than most.
// Of equally short ways it takes the one that, from the end, replaces rather than
// deletes, and deletes rather than inserts (Ukkonen: Algorithms for Approximate
// String Matching, 1985).
func (s *Alignment) align(a, b []rune, limit bounds, either bool) (e Edited) {
	for len(a) > 0 || len(b) > 0 && !either {
		s.most = min(limit.most-e.Edits, limit.lead+stretchMax/limit.letters)
		edits, d, ended := s.reach(a, b, limit, either)
		if edits > s.most {
			return Edited{Edits: limit.most + 1}
		}
		x := s.keep(a, b, edits, d, ended, &e)
		if x == (place{}) {
			return Edited{Edits: limit.most + 1}
		}
		a, b = a[x.a:], b[x.b:]
	}
	return e
}

// before orders texts.
func before(a, b []rune) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return slices.Compare(a, b) < 0
}

// place is one between characters of two texts.
type place struct{ a, b int }

// row is how far so many edits reach on each diagonal d, which is j − i of the
// characters i of a and j of b: on d up to character row[d+s.most+2] of a. Two
// diagonals on either side are never reached.
func (s *Alignment) row(edits int) []int16 {
	if edits < 0 {
		return nil
	}
	width := 2*s.most + 5
	return s.reached[width*edits:][:width]
}

const unreached = -1 << 14

// reach fills in the rows until the end of the stretch is reached, and returns by
// how many edits, on which diagonal, and whether the texts end there. It takes
// time for the square of the edits.
func (s *Alignment) reach(a, b []rune, limit bounds, either bool) (edits, d int, ended bool) {
	if rows := (2*s.most + 5) * (s.most + 1); cap(s.reached) < rows {
		s.reached = make([]int16, rows)
	} else {
		s.reached = s.reached[:rows]
	}
	goal, middle, far := min(2*stretchMax, len(a)+len(b)), s.most+2, 0
	for edits = 0; edits <= min(s.most, limit.lead+far/2/limit.letters); edits++ {
		last, row := s.row(edits-1), s.row(edits)
		from, to := max(-edits, -len(a)), min(edits, len(b))
		for _, d := range [...]int{from - 2, from - 1, to + 1, to + 2} {
			if middle+d >= 0 && middle+d < len(row) {
				row[middle+d] = unreached
			}
		}
		for d = from; d <= to; d++ {
			i := 0
			if last != nil {
				near := last[middle+d-1:][:3]
				i = min(max(int(near[1])+1, int(near[2])+1, int(near[0])), len(a), len(b)-d)
			}
			if i >= 0 {
				x, y := a[i:], b[i+d:]
				for len(x) > 0 && len(y) > 0 && x[0] == y[0] && i+i+d < goal {
					x, y = x[1:], y[1:]
					i++
				}
				far = max(far, i+i+d)
			}
			if row[middle+d] = int16(i); i+i+d >= goal || either && i == len(a) {
				return edits, d, i == len(a) && (either || i+d == len(b))
			}
		}
	}
	return s.most + 1, 0, false
}

// keep adds the edits of the way that reached the end of the stretch to e: all
// of them at the texts' end, else those up to a character that stays and is not
// behind the middle. It returns the place up to which they lead.
func (s *Alignment) keep(a, b []rune, edits, d int, ended bool, e *Edited) (end place) {
	numeral := func(c rune) bool { return unicode.IsDigit(c) || isNumeral(c) }
	if ended {
		end = place{len(a), len(a) + d}
	}
	kept := ended
	for last := unreached; edits >= 0; edits-- {
		i, from := s.step(a, b, edits, d)
		stays := int(s.row(edits)[d+s.most+2])
		if !kept && stays > i && i+i+d < stretchMax {
			x := min(stays, (stretchMax-d+1)/2)
			end, kept = place{x, x + d}, true
		}
		if kept && edits > 0 {
			e.Edits++
			if stays > i || last == unreached {
				e.Pieces++
			}
			last = i
			if from >= d && numeral(a[i-1]) {
				e.Digits++
			}
			if from <= d && numeral(b[i+d-1]) {
				e.Digits++
			}
		}
		d = from
	}
	return end
}

// step returns the farthest character of a to which so many edits, the last of
// them onto diagonal d, lead, and from which diagonal that one comes: the same
// if it replaces, the next if it deletes, the one before if it inserts.
func (s *Alignment) step(a, b []rune, edits, d int) (i, from int) {
	if edits == 0 {
		return 0, d
	}
	near := s.row(edits - 1)[d+s.most+1:][:3]
	i, from = int(near[1])+1, d
	if x := int(near[2]) + 1; x > i {
		i, from = x, d+1
	}
	if x := int(near[0]); x > i {
		i, from = x, d-1
	}
	return min(i, len(a), len(b)-d), from
}
