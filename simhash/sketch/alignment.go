package sketch

import (
	"math"
	"slices"
	"unicode"
)

// alignment compares texts by their letters, digits and marks in order: by the
// edits that make the one of the other.
//
// The zero value is ready to use. It holds buffers; one goroutine uses it at a
// time.
type alignment struct {
	rows letterRows // of a stretch's letters

	// Of the table of a stretch's edits, whose rows are letters of the one text
	// and whose columns those of the other: where a cell is that of the row and
	// column before, and where it is one more than that of the row before.
	same, more [2*stretchMax + 1]stretchBits

	a, b       []rune // reversed
	row        []int
	head, tail [stretchMax + 1]int
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

// Texts are aligned a stretch at a time: stretchMax characters of the one, with as
// much of the other as suits best. For slips of long texts the first has stretchMin: most
// that are not alike differ too much in these already. What is aligned is kept up
// to the middle, where what follows no longer matters.
const (
	stretchMin = 64
	stretchMax = 256
)

// bounds are those of an alignment, beyond which it ends: most edits in all, and
// in a stretch no more than lead, and one more for each letters, but never more
// than stretchMax; and the letters of the first stretch.
type bounds struct{ most, lead, letters, first int }

// slips gives the verdict on two texts of more than fewMax characters: whether
// they differ by slips alone; and how they differ, if so. Of long texts, of more
// than ShortMax characters, one may have a piece beyond the other, of half of the
// other's length at most, wherever it stands: a footer. It does not depend on the
// order of the two, and takes time for the length.
func (s *alignment) slips(a, b []rune) (v Verdict, e Edited) {
	if before(b, a) {
		a, b = b, a // of equally short ways the same, whatever the order
	}
	if !withinHalf(len(a), len(b)) {
		return Verdict{Reason: ReasonShortUnlike}, Edited{}
	}
	if len(b) <= ShortMax {
		limit := bounds{mostEdits(len(b)), 12, 4, stretchMax}
		e, _ = s.align(a, b, limit, false)
		return slipsVerdict(e, limit)
	}
	limit := bounds{mostEdits(len(a)), 12, 4, stretchMin}
	e, head := s.align(a, b, limit, true)
	if v, e = slipsVerdict(e, limit); v.Same || len(b)-len(a) <= limit.lead {
		return v, e
	}
	s.a, s.b = append(s.a[:0], a...), append(s.b[:0], b...)
	slices.Reverse(s.a)
	slices.Reverse(s.b)
	e, tail := s.align(s.a, s.b, limit, true)
	if v, e = slipsVerdict(e, limit); v.Same || head.a+tail.a == 0 {
		return v, e
	}
	return slipsVerdict(s.around(a, b, limit), limit)
}

func slipsVerdict(e Edited, limit bounds) (Verdict, Edited) {
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

// around returns how a and b, which reversed are s.a and s.b, differ but for a
// piece that b has within. It aligns them from the beginnings and from the ends up
// to where more than slips would have to be edited, and divides a between these
// places where the edits before and behind are fewest.
func (s *alignment) around(a, b []rune, limit bounds) Edited {
	beyond := Edited{Edits: limit.most + 1}
	slips := bounds{limit.most, 6, 7, stretchMin}
	_, forth := s.align(a, b, slips, true)
	_, back := s.align(s.a, s.b, slips, true)
	from := max(forth.a, len(a)-back.a-stretchBehind(back))
	to := min(forth.a+stretchBehind(forth), len(a)-back.a)
	if from > to || forth.a+back.a == 0 {
		return beyond
	}
	s.fewest(&s.head, a[forth.a:to], b[forth.b:])
	s.fewest(&s.tail, s.a[back.a:len(a)-from], s.b[back.b:])
	at, least := 0, len(a)
	for i := from; i <= to; i++ {
		if n := s.head[i-forth.a] + s.tail[len(a)-back.a-i]; n < least {
			at, least = i, n
		}
	}
	if least > limit.most {
		return beyond
	}
	e, _ := s.align(a[:at], b, limit, true)
	f, _ := s.align(s.a[:len(a)-at], s.b, limit, true)
	return Edited{e.Edits + f.Edits, e.Pieces + f.Pieces, e.Digits + f.Digits}
}

// stretchBehind is the most letters of the stretch that was not aligned.
func stretchBehind(end place) int {
	if end.a == 0 {
		return stretchMin
	}
	return stretchMax
}

// fewest sets dst, for each beginning of a stretch a, to the fewest edits that
// make it a beginning of b, of those that never shift it by more than shiftMost.
func (s *alignment) fewest(dst *[stretchMax + 1]int, a, b []rune) {
	s.row = s.row[:0]
	for j := range min(len(b), len(a)+shiftMost) + 1 {
		s.row = append(s.row, j)
	}
	dst[0] = 0
	for i, c := range a {
		from, to := max(0, i-shiftMost), min(len(b), i+shiftMost)
		corner, left := s.row[min(from, len(b))], stretchMax
		if from == 0 {
			left, s.row[0] = i+1, i+1
		}
		least := left
		for j := from; j < to; j++ {
			n := corner
			if c != b[j] {
				n = 1 + min(corner, left, s.row[j+1])
			}
			corner, left, s.row[j+1] = s.row[j+1], n, n
			least = min(least, n)
		}
		dst[i+1] = least
	}
}

// shiftMost is far more than slips shift the letters of a stretch.
const shiftMost = 32

// withinHalf reports whether the longer of two texts is longer by half at most.
func withinHalf(shorter, longer int) bool { return 2*longer <= 3*shorter }

// revised reports whether one of two texts is a revision of the other, and how
// they differ, if so. It is as Slips in the rest.
func (s *alignment) revised(a, b []rune) (ok bool, e Edited) {
	if before(b, a) {
		a, b = b, a
	}
	limit := bounds{int(revisedShare * float64(len(b))), 0, 1, stretchMax}
	e, _ = s.align(a, b, limit, false)
	if e.Edits > limit.most || revisedDigit*e.Digits > e.Edits {
		return false, Edited{}
	}
	return true, e
}

// align returns how a and b differ, to the end of both or, if either end will
// do, to that of a: by the fewest edits if a fits in the first stretch, else by hardly
// more. Beyond the bounds it says no more than that the edits are more than most,
// and up to where it got. Of equally short ways it takes the one that, from the
// end, keeps a character rather than replaces it, then deletes, then inserts.
func (s *alignment) align(a, b []rune, limit bounds, either bool) (e Edited, end place) {
	beyond := Edited{Edits: limit.most + 1}
	for size := limit.first; end.a < len(a); size = stretchMax {
		a, b := a[end.a:], b[end.b:]
		size = min(size, len(a))
		most := min(limit.most-e.Edits, limit.lead+size/limit.letters, stretchMax)
		last := size == len(a)
		if rest := len(b) - len(a); -rest > limit.most-e.Edits || !either && rest > limit.most-e.Edits {
			return beyond, end
		}
		whole := last && !either && len(b) <= size+most
		x, edits := s.fill(a[:size], b[:min(len(b), size+most)], whole)
		if edits > most {
			return beyond, end
		}
		x = s.keep(a, b, x, last && (either || whole), &e)
		end = place{end.a + x.a, end.b + x.b}
	}
	if rest := b[end.b:]; !either && len(rest) > 0 {
		e.Edits, e.Pieces, e.Digits = e.Edits+len(rest), e.Pieces+1, e.Digits+numerals(rest)
	}
	return e, end
}

func before(a, b []rune) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return slices.Compare(a, b) < 0
}

// place is one between characters of two texts.
type place struct{ a, b int }

// stretchBits has a bit for every character of a stretch.
type stretchBits [stretchMax / 64]uint64

// letterRows says in which rows of a stretch a letter stands.
type letterRows struct {
	letters [2 * stretchMax]rune // and 1
	rows    [2 * stretchMax]stretchBits
	used    []uint32 // places of letters
}

// set takes in the letters of a stretch, and none of the one before.
func (l *letterRows) set(stretch []rune) {
	for _, at := range l.used {
		l.letters[at], l.rows[at] = 0, stretchBits{}
	}
	l.used = l.used[:0]
	for i, c := range stretch {
		at := l.place(c)
		if l.letters[at] == 0 {
			l.letters[at] = c + 1
			l.used = append(l.used, at)
		}
		l.rows[at][i/64] |= 1 << (i % 64)
	}
}

// place returns where the rows of a letter are, or would be.
func (l *letterRows) place(c rune) uint32 {
	i := uint32(c) * 0x9e3779b1 >> 23
	for l.letters[i] != 0 && l.letters[i] != c+1 {
		i = (i + 1) % uint32(len(l.letters))
	}
	return i
}

// fill fills in the table of the edits between a stretch a and each beginning of
// b, and returns up to where of b they are fewest, two more letters of b making up
// for an edit, and how many: up to its end if the whole of it counts. It counts 64 rows at once (Myers: A Fast Bit-Vector
// Algorithm for Approximate String Matching, 1999; Hyyrö: A Bit-Vector Algorithm
// for Computing Levenshtein and Damerau Edit Distances, 2003).
func (s *alignment) fill(a, b []rune, whole bool) (end place, fewest int) {
	s.rows.set(a)
	words, last := (len(a)+63)/64, (len(a)-1)%64
	var up, down stretchBits // where a cell is one more, and less, than that of the row before
	for w := range up {
		up[w] = math.MaxUint64
	}
	edits := len(a)
	end, fewest = place{len(a), 0}, edits
	for j, c := range b {
		equal, same, more := &s.rows.rows[s.rows.place(c)], &s.same[j+1], &s.more[j+1]
		rises, falls := uint64(1), uint64(0) // from one column to the next, in the row above
		for w := range words {
			vp, vn, eq := up[w], down[w], equal[w]|falls
			d := ((eq&vp + vp) ^ vp) | eq | vn
			hp, hn := vn|^(d|vp), d&vp
			if w == words-1 {
				edits += int(hp>>last&1) - int(hn>>last&1)
			}
			hp, rises = hp<<1|rises, hp>>63
			hn, falls = hn<<1|falls, hn>>63
			up[w], down[w] = hn|^(d|hp), hp&d
			same[w], more[w] = d, up[w]
		}
		if 2*edits-j-1 < 2*fewest-end.b || whole {
			end, fewest = place{len(a), j + 1}, edits
		}
	}
	if whole {
		return place{len(a), len(b)}, edits
	}
	return end, fewest
}

// keep adds the edits that lead to a place to e: all of them at the texts' end,
// else those up to a character that stays and is about in the middle. It
// returns the place up to which they lead.
func (s *alignment) keep(a, b []rune, at place, ended bool, e *Edited) (end place) {
	middle := max(1, at.a/2)
	if ended {
		middle = at.a
	}
	kept, edited := ended, false
	if kept {
		end = at
	}
	for at != (place{}) {
		i, j := at.a-1, at.b-1
		stays := i >= 0 && j >= 0 && a[i] == b[j]
		if !kept && at.a <= middle && (stays || at.a <= (middle+1)/2) {
			end, kept = at, true
		}
		from := at
		bit := func(rows *stretchBits) bool { return rows[i/64]>>(i%64)&1 != 0 }
		switch {
		case stays || i >= 0 && j >= 0 && !bit(&s.same[at.b]):
			from = place{i, j}
		case j < 0 || i >= 0 && bit(&s.more[at.b]):
			from.a = i
		default:
			from.b = j
		}
		if kept && !stays {
			e.Edits++
			e.Digits += numerals(a[from.a:at.a]) + numerals(b[from.b:at.b])
			if !edited {
				e.Pieces++
			}
		}
		at, edited = from, kept && !stays
	}
	return end
}

func numerals(text []rune) (n int) {
	for _, c := range text {
		if unicode.IsDigit(c) || isNumeral(c) {
			n++
		}
	}
	return n
}
