package sketch

import (
	"math"
	"slices"
	"unicode"
)

// alignment compares two texts by their letters, digits and marks in order: by the
// edits that make one of the other. Long texts are aligned a stretch at a time, so
// the time is proportional to their length.
//
// The zero value is ready to use. It reuses its buffers, so only one goroutine may
// use it at a time.
type alignment struct {
	rows letterRows // of a stretch's letters

	// The edit distances of a stretch form a table, with a row for each letter of
	// one text and a column for each letter of the other. Kept of it are, column by
	// column, two bits for each cell: whether it equals the cell one row and one
	// column before, and whether it is one more than the cell one row before. These
	// are enough to walk back along a shortest way.
	same, more [2*stretchMax + 1]stretchBits

	a, b       []rune // reversed
	row        []int
	head, tail [stretchMax + 1]int
}

// Edited is how two texts differ.
type Edited struct {
	Edits  int `json:"edits"`  // letters inserted, deleted or replaced to make one text of the other
	Pieces int `json:"pieces"` // runs of edits between letters that stay
	Digits int `json:"digits"` // digits and Chinese numerals among the edited letters
}

// Edits are slips, such as errors of typing or of reading print, if all of this
// holds: there are at most mostEdits, which is about a seventh of the longer text; a
// piece has at most maxPiece edits on average; and there are at least slipsDigit
// edits for each digit or numeral among them. Two texts of one form differ otherwise:
// another date, name or amount is edited in one piece.
//
// Of two long texts one is a revision of the other if the edits are at most
// revisedShare of the longer one, and at least revisedDigit for each digit among
// them: texts of one form, tables above all, differ in numbers.
const (
	maxPiece     = 1.7
	slipsDigit   = 3
	revisedShare = 0.4
	revisedDigit = 5
)

// Texts are aligned a stretch at a time: stretchMax characters of one text with as
// much of the other as fits best. The first half of that alignment is kept, since it
// hardly depends on what follows; the next stretch begins there. When long texts are
// checked for slips, the first stretch has only stretchMin characters: most texts
// that are not alike differ too much in these already.
const (
	stretchMin = 64
	stretchMax = 256
)

// bounds end an alignment early. It may have at most most edits in all, and in a
// stretch of n letters at most lead + n/letters, never more than stretchMax. First is
// the number of letters in the first stretch.
type bounds struct{ most, lead, letters, first int }

// slips gives the verdict on two texts of more than fewMax characters: whether they
// differ by slips alone and, if so, how. If they have more than ShortMax characters,
// one may also have an additional piece, such as a footer, anywhere, of at most half
// of the other's length. The verdict does not depend on the order of the two texts.
func (s *alignment) slips(a, b []rune) (v Verdict, e Edited) {
	if before(b, a) {
		a, b = b, a // so that the same one of several shortest ways is taken, whatever the order
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

// around returns how a and b differ apart from an additional piece inside b. S.a and
// s.b hold a and b reversed. It aligns the texts from their beginnings, and from their
// ends, each as far as slips alone suffice. Between these two places it divides a
// where the edits before and behind add up to the fewest.
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

// stretchBehind is how many letters the stretch has, at most, at which an alignment
// stopped.
func stretchBehind(end place) int {
	if end.a == 0 {
		return stretchMin
	}
	return stretchMax
}

// fewest sets dst[i] to the fewest edits that make a[:i] some beginning of b, for
// each i. It considers only alignments that shift no letter by more than shiftMost.
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

// withinHalf reports whether the longer text has at most half as many letters again
// as the shorter.
func withinHalf(shorter, longer int) bool { return 2*longer <= 3*shorter }

// revised reports whether one of two texts is a revision of the other and, if so, how
// they differ. Like slips it does not depend on their order.
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

// align returns how a and b differ: up to the end of both or, with either, up to the
// end of a. The edits are the fewest if a fits into the first stretch, and hardly more
// otherwise. If a bound is exceeded, e only says that the edits are more than most,
// and end how far the alignment got.
//
// Among shortest ways it takes, seen from the end, the one that keeps a letter, else
// replaces one, else deletes, else inserts.
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
		x, edits := s.fill(a[:size], b[:min(len(b), size+most)], whole, most)
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

// place is a point of an alignment: before letter a of one text and b of the other.
type place struct{ a, b int }

// stretchBits has a bit for every character of a stretch.
type stretchBits [stretchMax / 64]uint64

// letterRows is a hash table from a letter to the rows of a stretch that have it.
type letterRows struct {
	letters [2 * stretchMax]rune // letter + 1; 0: free
	rows    [2 * stretchMax]stretchBits
	used    []uint32 // places of letters
}

// set replaces the contents by the letters of a stretch.
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

// fill fills in the table of edit distances between a stretch a and each beginning of
// b. It returns the best end in b and the edits up to there. With whole that is the
// end of b; otherwise the end at which the edits, less half of the letters of b, are
// fewest, since a longer beginning may cost one more edit for each two letters. If
// the whole of b needs more than most edits, the result is some number above most:
// each letter of b that is left saves at most one edit, so unlike texts are given up
// long before the end.
//
// Neighbouring cells of the table differ by at most one. So a column is described by
// two bits a row, where it rises and where it falls, and a word has 64 rows, which are
// computed at once (Myers: A Fast Bit-Vector Algorithm for Approximate String
// Matching, 1999; Hyyrö: A Bit-Vector Algorithm for Computing Levenshtein and Damerau
// Edit Distances, 2003).
func (s *alignment) fill(a, b []rune, whole bool, most int) (end place, fewest int) {
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
		if whole && edits-(len(b)-j-1) > most {
			return end, most + 1
		}
		if 2*edits-j-1 < 2*fewest-end.b || whole {
			end, fewest = place{len(a), j + 1}, edits
		}
	}
	return end, fewest
}

// keep walks back from a place and adds edits to e: all of them if the alignment has
// ended, else only those up to a letter that stays near the middle. It returns the
// place up to which it counted.
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
