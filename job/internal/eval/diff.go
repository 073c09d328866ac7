package eval

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
	"golang.org/x/text/width"
)

// op says which of two texts has a piece.
type op string

// The values of an Op.
const (
	opBoth   op = "="
	opFirst  op = "-"
	opSecond op = "+"
	opShared op = "~" // not compared: pages of its site share it
)

// piece is a stretch of a text, or of both.
type piece struct {
	Op   op     `json:"op"`
	Text string `json:"text"`
}

// diffRow is a sentence or a line of two texts side by side; one of the sides may
// be empty. Where Alike is not 0, it stands for that many rows that are the
// same in both, and has no text.
type diffRow struct {
	First  []piece `json:"first,omitempty"`
	Second []piece `json:"second,omitempty"`
	Alike  int     `json:"alike,omitempty"`
}

// diffTokens is the most words or characters of a text that are compared.
const diffTokens = 20_000

// diff compares two texts word by word, those without spaces character by
// character, and returns their pieces in order. Space counts as one space or
// one line break. Of a text beyond 20,000 words or characters the rest is not
// looked at.
func diff(a, b []byte) []piece {
	known := map[string]rune{}
	var words []string
	code := func(text []byte) []rune {
		var codes []rune
		for w := range tokens(text) {
			c, had := known[w]
			if !had {
				c = firstCode + rune(len(words))
				known[w] = c
				words = append(words, w)
			}
			if codes = append(codes, c); len(codes) == diffTokens {
				break
			}
		}
		return codes
	}
	differ := diffmatchpatch.New()
	differ.DiffTimeout = 0 // the same texts give the same pieces
	x, y := code(a), code(b)
	diffs := differ.DiffCleanupSemantic(differ.DiffMainRunes(x, y, false))
	var pieces []piece
	for _, d := range diffs {
		var text strings.Builder
		for _, c := range d.Text {
			text.WriteString(words[c-firstCode])
		}
		op := opBoth
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			op = opFirst
		case diffmatchpatch.DiffInsert:
			op = opSecond
		}
		if text.Len() > 0 {
			pieces = append(pieces, piece{op, text.String()})
		}
	}
	return pieces
}

// firstCode is the character that stands for the first word: beyond it there
// are enough, and no surrogates.
const firstCode = 0x10000

// tokens yields the words of a text, runs of letters and digits of scripts
// with spaces, and every other character by itself.
func tokens(text []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		s := strings.ToValidUTF8(string(text), "\ufffd")
		for len(s) > 0 {
			c, n := utf8.DecodeRuneInString(s)
			word := s[:n]
			switch {
			case unicode.IsSpace(c):
				n = len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
				word = " "
				if strings.ContainsAny(s[:n], "\n\r") {
					word = "\n"
				}
			case spaced(c):
				n = len(s) - len(strings.TrimLeftFunc(s, spaced))
				word = s[:n]
			case unicode.IsControl(c):
				word = "\ufffd"
			}
			if !yield(word) {
				return
			}
			s = s[n:]
		}
	}
}

// spaced reports whether c is part of a word of a script that sets spaces.
func spaced(c rune) bool {
	return unicode.IsDigit(c) || unicode.IsMark(c) || unicode.IsLetter(c) &&
		!unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// sideBySide lays the pieces of a diff out in rows, a sentence or line each. Of
// rows that are the same in both those next to a difference stay, the others
// are counted. No more than most rows are made, if most is not 0.
func sideBySide(pieces []piece, most int) []diffRow {
	var rows []diffRow
	var row diffRow
	add := func(op op, text string) {
		if text == "" {
			return
		}
		if op != opSecond {
			row.First = append(row.First, piece{op, text})
		}
		if op != opFirst {
			row.Second = append(row.Second, piece{op, text})
		}
	}
	for _, p := range pieces {
		if p.Op != opBoth {
			add(p.Op, p.Text)
			continue
		}
		for _, s := range sentences(p.Text) {
			if strings.TrimSpace(s) == "" && len(row.First)+len(row.Second) == 0 {
				continue // an empty line
			}
			add(opBoth, s)
			if last, _ := utf8.DecodeLastRuneInString(s); isSentenceEnd(last) {
				rows = append(rows, row)
				row = diffRow{}
			}
		}
	}
	if len(row.First)+len(row.Second) > 0 {
		rows = append(rows, row)
	}
	var out []diffRow
	for i, r := range rows {
		if most > 0 && len(out) >= most {
			break
		}
		if r.same() && (i == 0 || rows[i-1].same()) && (i == len(rows)-1 || rows[i+1].same()) {
			if n := len(out); n > 0 && out[n-1].Alike > 0 {
				out[n-1].Alike++
			} else {
				out = append(out, diffRow{Alike: 1})
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// same reports whether both sides are.
func (r diffRow) same() bool {
	return !slices.ContainsFunc(slices.Concat(r.First, r.Second), func(p piece) bool { return p.Op != opBoth })
}

// WriteSideBySide writes rows as two columns for a terminal that many cells
// wide. What one text alone has is red or green, what is not compared grey;
// without colour they stand between [- and -], {+ and +}, [~ and ~].
func WriteSideBySide(w io.Writer, rows []diffRow, cells int, colour bool) error {
	column := max(20, (cells-3)/2)
	var b strings.Builder
	for _, r := range rows {
		if r.Alike > 0 {
			note := fmt.Sprintf("… %d the same …", r.Alike)
			fmt.Fprintf(&b, "%*s%s\n", max(0, column-cellsOf(note)/2), "", note)
			continue
		}
		left, right := wrapped(r.First, column, colour), wrapped(r.Second, column, colour)
		n := max(len(left), len(right))
		left, right = append(left, make([]line, n-len(left))...), append(right, make([]line, n-len(right))...)
		for i, x := range left {
			fmt.Fprintf(&b, "%s%s │ %s\n", x.text, strings.Repeat(" ", column-x.cells), right[i].text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line is a line of a column.
type line struct {
	text  string
	cells int
}

// marks are what stands around a piece, and the cells that each takes.
func marks(of op, colour bool) (open, end string, cells int) {
	switch {
	case of == opBoth:
		return "", "", 0
	case colour && of == opShared:
		return "\x1b[90m", "\x1b[0m", 0
	case of == opShared:
		return "[~", "~]", 2
	case colour && of == opFirst:
		return "\x1b[31m", "\x1b[0m", 0
	case colour:
		return "\x1b[32m", "\x1b[0m", 0
	case of == opFirst:
		return "[-", "-]", 2
	}
	return "{+", "+}", 2
}

// wrapped breaks the pieces of a side into lines of at most column cells.
func wrapped(pieces []piece, column int, colour bool) (lines []line) {
	var at line
	for _, p := range pieces {
		open, end, mark := marks(p.Op, colour)
		started := false
		stop := func() {
			if started {
				at.text, at.cells = at.text+end, at.cells+mark
			}
			started = false
		}
		next := func() {
			stop()
			lines, at = append(lines, at), line{}
		}
		for word := range tokens([]byte(p.Text)) {
			if word == "\n" {
				if p.Op == opBoth {
					continue
				}
				word = "⏎"
			}
			size := cellsOf(word)
			around := mark // cells that marks still take
			if !started {
				around += mark
			}
			if at.cells+size+around > column && size+2*mark <= column {
				if next(); word == " " {
					continue
				}
			}
			for _, c := range word { // a word longer than the column is broken
				if at.cells+cellsOf(string(c))+mark > column {
					next()
				}
				if !started {
					at.text, at.cells, started = at.text+open, at.cells+mark, true
				}
				at.text, at.cells = at.text+string(c), at.cells+cellsOf(string(c))
			}
		}
		stop()
	}
	if at.cells > 0 {
		lines = append(lines, at)
	}
	return lines
}

// cellsOf is how many cells of a terminal a text takes.
func cellsOf(text string) (n int) {
	for _, c := range text {
		switch kind := width.LookupRune(c).Kind(); {
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
