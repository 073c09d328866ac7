package show

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// The most cells that a value takes of a line. A column is as wide as its
// widest cell, so that one long id would fill a screen with spaces.
const (
	mostInLine   = 1000
	mostInColumn = 160
)

// cells counts as a terminal does that is not set to an East Asian locale of
// old: what the width of a character is must not depend on who looks.
var cells = runewidth.Condition{StrictEmojiNeutral: true}

// Line is text as it may stand within a line of a terminal or a log: what
// cannot be seen, line breaks and tabs too, is its code point, as of Visible,
// and what a thousand cells do not hold is an ellipsis.
func Line(text string) string { return Cut(text, mostInLine) }

// Cut is a line of at most so many cells.
func Cut(text string, most int) string {
	n := min(len(text), 16*most) // characters without width are not endless
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	shown := visible(text[:n], "")
	if n == len(text) && cells.StringWidth(shown) <= most {
		return shown
	}
	return cells.Truncate(shown, most-1, "") + "…"
}

// Cells is how many cells of a terminal a line takes.
func Cells(text string) int { return cells.StringWidth(text) }

// Lines is text of several lines, each as of Line.
func Lines(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = Line(all[i])
	}
	return strings.Join(all, "\n")
}

// FieldCells is how many cells the name of a field takes, with the space behind.
const FieldCells = 13

// Field writes a line about something that has a name. In a group of lines the
// first has it.
func Field(w *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(w, "%s%s%s\n", name, strings.Repeat(" ", max(1, FieldCells-cells.StringWidth(name))), Line(fmt.Sprintf(format, args...)))
}

// Columns are rows of cells below each other, for a terminal or a file. The
// zero value has none.
type Columns struct {
	rows  [][]string
	width []int // of each column
}

// Row adds a row of values as fmt.Sprint has them.
func (c *Columns) Row(values ...any) {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprint(v)
	}
	c.Texts(row)
}

// Texts adds a row. The last cell of a row makes no column wider.
func (c *Columns) Texts(values []string) {
	row := make([]string, len(values))
	for i, v := range values {
		most := mostInColumn
		if i == len(values)-1 {
			most = mostInLine
		}
		row[i] = Cut(v, most)
		if i == len(c.width) {
			c.width = append(c.width, 0)
		}
		if i < len(values)-1 {
			c.width[i] = max(c.width[i], cells.StringWidth(row[i]))
		}
	}
	c.rows = append(c.rows, row)
}

// Write writes the rows.
func (c *Columns) Write(w io.Writer) error {
	var b strings.Builder
	for _, row := range c.rows {
		spaces := 0
		for i, text := range row {
			if text != "" {
				b.WriteString(strings.Repeat(" ", spaces))
				b.WriteString(text)
				spaces = 0
			}
			spaces += c.width[i] + 2 - cells.StringWidth(text)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
