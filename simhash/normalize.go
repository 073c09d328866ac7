package simhash

import (
	_ "embed" // the tables of traditional characters and of variants
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The normal form of a text, but for what tidy.go takes out of it, is
//
//	map(NFKC(lower(NFKC(strip(valid(text))))))
//
// where valid puts U+FFFD for every byte that is no UTF-8, strip removes NUL
// and the default-ignorable characters (soft hyphen, zero-width spaces and
// joiners, bidirectional marks, byte order mark, variation selectors), NFKC is Unicode's
// compatibility composition, which also folds full-width and half-width forms
// and circled digits, lower is
// unicode.ToLower of each character, and map writes the apostrophes ’ and ʼ as
// ' and, when asked to, traditional characters as simplified ones and variants as
// the characters that are written today.
//
// It is computed piecewise. A character is plain when neither it nor what it
// becomes ever combines with a character before it; a text may be cut before
// every plain character and the pieces normalised apart. A piece of one plain
// character is looked up; only a plain character that others follow, such as
// a letter and a combining accent, is handed to package norm.

// A form is what a plain character becomes: the character itself or another
// one, or an index into expansions.
type form uint32

const (
	formExpand form = 1 << 30 // the other bits index expansions
	formSlow   form = 1 << 31 // not plain
)

// keeps marks in formTable.short a character that becomes itself.
const keeps = 0x80

// planes is how far the tables reach: the basic plane, and the supplementary
// one that has the emoji. What is above is either an ideograph or rare.
const planes = 0x20000

type formTable struct {
	forms      [planes]form
	short      [0x10000]byte // of what three bytes encode: keeps, the ASCII character it becomes, or 0 for neither
	ascii      [128]byte     // NUL for NUL
	expansions []string
	simplify   map[rune]rune // nil: leave traditional characters alone
}

var (
	traditionalForms = sync.OnceValue(newFormTable)
	simplifiedForms  = sync.OnceValue(func() *formTable { return traditionalForms().folding(folded()) })
)

// traditionalPairs holds a traditional character and its simplified form in
// turn, ascending, derived from OpenCC's TSCharacters (Apache-2.0);
// TestTraditionalIsGenerated -update makes it.
//
//go:embed traditional.txt
var traditionalPairs string

// variantPairs holds a variant and the character that is written today in turn,
// ascending, derived from the Unicode Character Database's Unihan_Variants
// (kSemanticVariant, kZVariant) and Unihan_OtherMappings (kGB0), version 15.0
// (Unicode license); TestVariantsAreGenerated -update makes it. A variant is a
// character that GB 2312 lacks, and has one form there, but for two pairs that
// are both in it.
//
//go:embed variants.txt
var variantPairs string

// pairs are those of a table, one of the above.
func pairs(table string) iter.Seq2[rune, rune] {
	return func(yield func(from, to rune) bool) {
		for line := range strings.Lines(table) {
			for pair := range slices.Chunk([]rune(strings.TrimSpace(line)), 2) {
				if !yield(pair[0], pair[1]) {
					return
				}
			}
		}
	}
}

// Traditional returns the traditional characters with their simplified forms,
// ascending.
func Traditional() iter.Seq2[rune, rune] { return pairs(traditionalPairs) }

// folded returns what is written in the place of traditional characters and of
// variants.
func folded() map[rune]rune {
	to := make(map[rune]rune, (len(traditionalPairs)+len(variantPairs))/6)
	for from, usual := range pairs(variantPairs) {
		to[from] = usual
	}
	for from, simplified := range Traditional() {
		if usual, ok := to[simplified]; ok {
			simplified = usual
		}
		to[from] = simplified
	}
	return to
}

// newFormTable returns the table that leaves traditional characters and variants alone.
func newFormTable() *formTable {
	t := &formTable{}
	var buf [utf8.UTFMax]byte
	s := scratch{}
	for _, of := range unicode.Unified_Ideograph.R16 { // which Unicode never changes
		for r := rune(of.Lo); r <= rune(of.Hi); r += rune(of.Stride) {
			t.forms[r] = form(r)
		}
	}
	for r := rune(0); r < planes; r++ {
		if t.forms[r] != 0 {
			continue
		}
		if ignorable(r) || !utf8.ValidRune(r) {
			t.forms[r] = formSlow
			continue
		}
		b := buf[:utf8.EncodeRune(buf[:], r)]
		p := norm.NFKC.Properties(b)
		if p.BoundaryBefore() && (p.Decomposition() == nil || norm.NFKC.IsNormal(b)) && unicode.ToLower(r) == r {
			t.forms[r] = form(t.mapped(r))
			continue
		}
		first := norm.NFKC.Bytes(b)
		s.lower = s.lower[:0]
		for _, c := range string(first) {
			s.lower = utf8.AppendRune(s.lower, unicode.ToLower(c))
		}
		if !p.BoundaryBefore() ||
			!norm.NFKC.Properties(first).BoundaryBefore() ||
			!norm.NFKC.Properties(s.lower).BoundaryBefore() {
			t.forms[r] = formSlow
			continue
		}
		out := t.appendSlow(nil, b, &s)
		if c, n := utf8.DecodeRune(out); n == len(out) {
			t.forms[r] = form(c)
			continue
		}
		t.forms[r] = formExpand | form(len(t.expansions))
		t.expansions = append(t.expansions, string(out))
	}
	t.shorten()
	return t
}

// folding returns the table that also writes the characters of simplify as those
// that they stand for: this comes last, and makes one character of one.
func (t *formTable) folding(simplify map[rune]rune) *formTable {
	f := &formTable{forms: t.forms, expansions: slices.Clone(t.expansions), simplify: simplify}
	for r, c := range f.forms {
		if c < formExpand {
			if to, ok := simplify[rune(c)]; ok {
				f.forms[r] = form(to)
			}
		}
	}
	for i, s := range f.expansions {
		f.expansions[i] = strings.Map(f.mapped, s)
	}
	f.shorten()
	return f
}

// shorten sets what says the same as forms in less room.
func (t *formTable) shorten() {
	for r := rune(0x800); r < 0x10000; r++ {
		switch f := t.forms[r]; {
		case f == form(r):
			t.short[r] = keeps
		case f < utf8.RuneSelf:
			t.short[r] = byte(f)
		}
	}
	for c := 1; c < 128; c++ {
		t.ascii[c] = byte(t.forms[c])
	}
}

// mapped is the last step of the normal form.
func (t *formTable) mapped(r rune) rune {
	if r == '’' || r == 'ʼ' {
		return '\''
	}
	if to, ok := t.simplify[r]; ok {
		return to
	}
	return r
}

// ignorable reports whether the normal form drops r: NUL, and what Unicode's
// DerivedCoreProperties calls Default_Ignorable_Code_Point.
func ignorable(r rune) bool {
	switch {
	case r == 0:
		return true
	case r < 0xad:
		return false
	case r >= 0xfff9 && r <= 0xfffb, r >= 0x13430 && r <= 0x1345f:
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
}

type scratch struct {
	piece, first, lower, second []byte
	decoded                     []byte
	iter                        norm.Iter // norm.NFKC.Append would allocate
}

func (s *scratch) nfkc(dst, text []byte) []byte {
	for s.iter.Init(norm.NFKC, text); !s.iter.Done(); {
		dst = append(dst, s.iter.Next()...)
	}
	return dst
}

// appendSlow appends the normal form of a piece of text, step by step.
func (t *formTable) appendSlow(dst, piece []byte, s *scratch) []byte {
	s.piece = s.piece[:0]
	for i := 0; i < len(piece); {
		r, size := utf8.DecodeRune(piece[i:])
		i += size
		if !ignorable(r) {
			s.piece = utf8.AppendRune(s.piece, r)
		}
	}
	s.first = s.nfkc(s.first[:0], s.piece)
	s.lower = s.lower[:0]
	for i := 0; i < len(s.first); {
		r, size := utf8.DecodeRune(s.first[i:])
		i += size
		s.lower = utf8.AppendRune(s.lower, unicode.ToLower(r))
	}
	s.second = s.nfkc(s.second[:0], s.lower)
	for i := 0; i < len(s.second); {
		r, size := utf8.DecodeRune(s.second[i:])
		i += size
		dst = utf8.AppendRune(dst, t.mapped(r))
	}
	return dst
}

func (t *formTable) form(r rune) form {
	if r < planes {
		return t.forms[r]
	}
	if unicode.Is(unicode.Unified_Ideograph, r) {
		return form(t.mapped(r))
	}
	return formSlow
}

const (
	ones8  = 0x0101010101010101
	highs8 = 0x8080808080808080
)

// append appends the normal form of text.
func (t *formTable) append(dst, text []byte, s *scratch) []byte {
	i := 0
	start, cut := 0, len(dst) // where the last plain character is, in and out
	for i < len(text) {
		var read int
		dst, read = t.appendPlain(dst, text[i:])
		if read > 0 {
			i += read
			start, cut = lastStart(text[:i]), lastStart(dst)
			if i == len(text) {
				break
			}
		}
		r, size := decode(text[i:])
		f := t.form(r)
		switch {
		case f < formExpand:
			start, cut = i, len(dst)
			dst = appendRune(dst, rune(f))
			i += size
		case f < formSlow:
			start, cut = i, len(dst)
			dst = append(dst, t.expansions[f&^formExpand]...)
			i += size
		default:
			// The piece runs from the last plain character to the next.
			for i += size; i < len(text); i += size {
				if r, size = decode(text[i:]); t.form(r)&formSlow == 0 {
					break
				}
			}
			dst = t.appendSlow(dst[:cut], text[start:i], s)
			start, cut = i, len(dst)
		}
	}
	return dst
}

// lastStart returns where the last character of text starts.
func lastStart(text []byte) int {
	i := len(text) - 1
	for text[i]&0xc0 == 0x80 {
		i--
	}
	return i
}

// appendPlain appends the forms of the plain characters that text starts with,
// as many as are quickly told to be plain and to have a form of one character,
// and returns how many bytes of text it read.
func (t *formTable) appendPlain(dst, text []byte) ([]byte, int) {
	dst = slices.Grow(dst, len(text)+64)
	if hasWide {
		read, written := foldWide(&dst[:cap(dst)][len(dst)], &text[0], len(text), &t.forms[0])
		return dst[:len(dst)+written], read
	}
	return t.appendCommon(dst, text)
}

// appendCommon is appendPlain in Go: ASCII, and what three bytes encode and
// stays itself or becomes ASCII.
func (t *formTable) appendCommon(dst, text []byte) ([]byte, int) {
	out, i, j := dst[:cap(dst)], 0, len(dst)
	for i < len(text) {
		from := i
		for i+8 <= len(text) {
			x := binary.LittleEndian.Uint64(text[i:])
			if (x|(x-ones8))&highs8 != 0 { // not all ASCII, or a NUL
				break
			}
			// Bit 7 of a byte: at least 'A', and not beyond 'Z'.
			upper := (x + (0x80-'A')*ones8) &^ (x + (0x80-'Z'-1)*ones8) & highs8
			binary.LittleEndian.PutUint64(out[j:], x|upper>>2)
			i += 8
			j += 8
		}
		for i < len(text) && text[i]-1 < utf8.RuneSelf-1 {
			out[j] = t.ascii[text[i]]
			i++
			j++
		}
		for i+4 <= len(text) {
			x := binary.LittleEndian.Uint32(text[i:])
			r := x&0xf<<12 | x>>2&0xfc0 | x>>16&0x3f
			v := uint32(t.short[uint16(r)])
			if x&0xc0c0f0 != 0x8080e0 || v == 0 {
				break
			}
			kept := v / keeps // 1 or 0: whether x or v is written is not to be foreseen
			binary.LittleEndian.PutUint32(out[j:], v^(v^x)&-kept)
			i += 3
			j += int(1 + 2*kept)
		}
		if i == from {
			break
		}
	}
	return out[:j], i
}

// decode is utf8.DecodeRune, quick for what three bytes encode, as Chinese is.
func decode(b []byte) (rune, int) {
	if len(b) >= 3 && b[0]&0xf0 == 0xe0 && b[1]&0xc0 == 0x80 && b[2]&0xc0 == 0x80 {
		r := rune(b[0]&0xf)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
		if r >= 0x800 && (r < 0xd800 || r >= 0xe000) {
			return r, 3
		}
	}
	return utf8.DecodeRune(b)
}

// appendRune is utf8.AppendRune, quick for what three bytes encode.
func appendRune(dst []byte, r rune) []byte {
	if r >= 0x800 && r < 0x10000 {
		return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}
