package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Op says which of two texts has a piece.
type Op string

// The values of an Op.
const (
	Both   Op = "="
	First  Op = "-"
	Second Op = "+"
	Left   Op = "~" // not compared: its site's pages share it, or it is the title and summary of short news
)

// Piece is a stretch of a text, or of both.
type Piece struct {
	Op   Op     `json:"op"`
	Text string `json:"text"`
}

// Row is a sentence or a line of two texts side by side; one of the sides may
// be empty. Where Alike is not 0, it stands for that many rows that are the
// same in both, and has no text.
type Row struct {
	First  []Piece `json:"first,omitempty"`
	Second []Piece `json:"second,omitempty"`
	Alike  int     `json:"alike,omitempty"`
}

// diffTokens is the most words or characters of a text that are compared.
const diffTokens = 20_000

// Diff compares two texts word by word, those without spaces character by
// character, and returns their pieces in order. Space counts as one space or
// one line break. Of a text beyond 20,000 words or characters the rest is not
// looked at.
func Diff(a, b []byte) []Piece {
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
	var pieces []Piece
	for _, d := range diffs {
		var text strings.Builder
		for _, c := range d.Text {
			text.WriteString(words[c-firstCode])
		}
		op := Both
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			op = First
		case diffmatchpatch.DiffInsert:
			op = Second
		}
		if text.Len() > 0 {
			pieces = append(pieces, Piece{op, text.String()})
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

// SideBySide lays the pieces of a diff out in rows, a sentence or line each. Of
// rows that are the same in both those next to a difference stay, the others
// are counted. No more than most rows are made, if most is not 0.
func SideBySide(pieces []Piece, most int) []Row {
	var rows []Row
	var row Row
	add := func(op Op, text string) {
		if text == "" {
			return
		}
		if op != Second {
			row.First = append(row.First, Piece{op, text})
		}
		if op != First {
			row.Second = append(row.Second, Piece{op, text})
		}
	}
	for _, p := range pieces {
		if p.Op != Both {
			add(p.Op, p.Text)
			continue
		}
		for _, s := range Sentences(p.Text) {
			if strings.TrimSpace(s) == "" && len(row.First)+len(row.Second) == 0 {
				continue // an empty line
			}
			add(Both, s)
			if last, _ := utf8.DecodeLastRuneInString(s); EndsSentence(last) {
				rows = append(rows, row)
				row = Row{}
			}
		}
	}
	if len(row.First)+len(row.Second) > 0 {
		rows = append(rows, row)
	}
	var out []Row
	for i, r := range rows {
		if most > 0 && len(out) >= most {
			break
		}
		if r.same() && (i == 0 || rows[i-1].same()) && (i == len(rows)-1 || rows[i+1].same()) {
			if n := len(out); n > 0 && out[n-1].Alike > 0 {
				out[n-1].Alike++
			} else {
				out = append(out, Row{Alike: 1})
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// Sentences cuts a text behind every character that ends one. What has a letter
// or digit right behind it, as the point of a number or an address, ends none.
func Sentences(text string) []string {
	var all []string
	from := 0
	for i, c := range text {
		if !EndsSentence(c) {
			continue
		}
		end := i + utf8.RuneLen(c)
		next, _ := utf8.DecodeRuneInString(text[end:])
		if strings.ContainsRune(".!?;", c) && (unicode.IsDigit(next) || unicode.Is(unicode.Latin, next)) {
			continue
		}
		all = append(all, text[from:end])
		from = end
	}
	if from < len(text) {
		all = append(all, text[from:])
	}
	return all
}

// EndsSentence reports whether r ends a sentence or a line.
func EndsSentence(r rune) bool {
	switch r {
	case '\n', '\r', '.', '!', '?', ';', '。', '！', '？', '；', '…':
		return true
	}
	return false
}

// same reports whether both sides are.
func (r Row) same() bool {
	return !slices.ContainsFunc(slices.Concat(r.First, r.Second), func(p Piece) bool { return p.Op != Both })
}

// WriteSideBySide writes rows as two columns for a terminal that many cells
// wide. What one text alone has is red or green, what is not compared grey;
// without colour they stand between [- and -], {+ and +}, [~ and ~]. Note says that
// so many rows are the same.
func WriteSideBySide(w io.Writer, rows []Row, width int, colour bool, note func(n int) string) error {
	column := max(20, (width-3)/2)
	var b strings.Builder
	for _, r := range rows {
		if r.Alike > 0 {
			note := note(r.Alike)
			fmt.Fprintf(&b, "%*s%s\n", max(0, column-cells.StringWidth(note)/2), "", note)
			continue
		}
		left, right := wrapped(r.First, column, colour), wrapped(r.Second, column, colour)
		n := max(len(left), len(right))
		left, right = append(left, make([]part, n-len(left))...), append(right, make([]part, n-len(right))...)
		for i, x := range left {
			fmt.Fprintf(&b, "%s%s │ %s\n", x.text, strings.Repeat(" ", column-x.cells), right[i].text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Wrap breaks a text into lines of at most so many cells of a terminal; what it
// has of empty lines goes.
func Wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, part := range wrapped([]Piece{{Both, line}}, max(20, width), false) {
			b.WriteString(part.text + "\n")
		}
	}
	return b.String()
}

// part is a line of a column.
type part struct {
	text  string
	cells int
}

// marks are what stands around a piece, and the cells that each takes.
func marks(of Op, colour bool) (open, end string, cells int) {
	switch {
	case of == Both:
		return "", "", 0
	case colour && of == Left:
		return "\x1b[90m", "\x1b[0m", 0
	case of == Left:
		return "[~", "~]", 2
	case colour && of == First:
		return "\x1b[31m", "\x1b[0m", 0
	case colour:
		return "\x1b[32m", "\x1b[0m", 0
	case of == First:
		return "[-", "-]", 2
	}
	return "{+", "+}", 2
}

// wrapped breaks the pieces of a side into lines of at most column cells.
func wrapped(pieces []Piece, column int, colour bool) (lines []part) {
	var at part
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
			lines, at = append(lines, at), part{}
		}
		for word := range tokens([]byte(Visible(p.Text))) {
			if word == "\n" {
				if p.Op == Both {
					continue
				}
				word = "⏎"
			}
			size := cells.StringWidth(word)
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
				if at.cells+cells.RuneWidth(c)+mark > column {
					next()
				}
				if !started {
					at.text, at.cells, started = at.text+open, at.cells+mark, true
				}
				at.text, at.cells = at.text+string(c), at.cells+cells.RuneWidth(c)
			}
		}
		stop()
	}
	if at.cells > 0 {
		lines = append(lines, at)
	}
	return lines
}
