package csv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
)

// parser has encoding/csv read the rows of a text that is in memory.
type parser struct {
	text  bytes.Reader
	in    *bufio.Reader // of text
	csv   *csv.Reader   // of in
	start int64         // of the text in all that csv has read
}

func newParser(comma rune) *parser {
	p := &parser{in: bufio.NewReader(nil)}
	p.csv = csv.NewReader(p.in)
	p.csv.Comma, p.csv.FieldsPerRecord, p.csv.ReuseRecord = comma, -1, true
	return p
}

func (p *parser) reset(text []byte) {
	p.text.Reset(text)
	p.in.Reset(&p.text)
	p.start = p.csv.InputOffset()
}

// next reads a row, and tells where it ends in the text: one whose quoting is
// broken, with the line where it is. The fields are valid until the next call.
func (p *parser) next() (fields []string, end int, err error) {
	fields, err = p.csv.Read()
	return fields, int(p.csv.InputOffset() - p.start), err
}

// Evidence whether lines are rows: so many of them, of so many bytes, and more
// than half.
const (
	evidenceRows  = 1000
	evidenceBytes = 64 << 10
)

// areRows tells that lines, which stand behind a quote that is open, are rows
// of their own: most of them have the number of columns, and are not equal to
// one before, as lines of a text may be. The last may be cut, or a quote open in
// it.
func (t *table) areRows(lines []byte) bool {
	lines = lines[:min(len(lines), evidenceBytes)]
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
	t.probe.reset(lines)
	seen := make(map[string]bool)
	fit, rows := 0, 0
	for from := 0; rows < evidenceRows; rows++ {
		fields, end, err := t.probe.next()
		if errors.Is(err, io.EOF) || errors.Is(err, csv.ErrQuote) && end == len(lines) {
			break
		}
		row := bytes.TrimLeft(lines[from:end], "\r\n") // without empty lines
		if from = end; err == nil && len(fields) == len(t.header) && !seen[string(row)] {
			seen[string(row)] = true
			fit++
		}
	}
	return 2*fit > rows
}
