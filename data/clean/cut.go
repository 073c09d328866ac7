package clean

import (
	"bytes"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/csv"
	"github.com/neardup/neardup/data/internal/jsonl"
	"github.com/neardup/neardup/data/source"
)

// Stretch is bytes of a document's text: from From to To − 1.
type Stretch struct{ From, To int }

// AppendWithout appends text to dst without stretches of it, which are in order and do
// not overlap. What stood before and behind one is on lines of its own.
func AppendWithout(dst, text []byte, cuts []Stretch) []byte {
	start := len(dst)
	add := func(piece []byte) {
		if len(piece) == 0 {
			return
		}
		if n := len(dst); n > start && dst[n-1] != '\n' && piece[0] != '\n' && piece[0] != '\r' {
			dst = append(dst, '\n')
		}
		dst = append(dst, piece...)
	}
	from := 0
	for _, c := range cuts {
		piece := text[from:c.From]
		if from > 0 {
			piece = bytes.TrimLeft(piece, blanks)
		}
		add(bytes.TrimRight(piece, blanks))
		from = c.To
	}
	add(bytes.TrimLeft(text[from:], blanks))
	return dst
}

// blanks may stand before a line's end and behind its beginning.
const blanks = " \t\u3000"

// raw is a document in the form of the input, or its text where there is none, without
// stretches of the text.
func (w *Writer) raw(doc *data.Document, cuts []Stretch) ([]byte, error) {
	own, form := doc.Text, w.split.Format
	if form == source.FormatJSONL || form == source.FormatCSV || form == source.FormatTSV {
		own = doc.Raw
	}
	if len(cuts) == 0 {
		return own, nil
	}
	text := AppendWithout(nil, doc.Text, cuts)
	switch form {
	case source.FormatJSONL:
		if w.retext == nil {
			w.retext = jsonl.NewRetexter(w.options.Columns)
		}
		return w.retext.Append(nil, own, text)
	case source.FormatCSV, source.FormatTSV:
		return w.row(own, text)
	}
	return text, nil
}

// unknown stands for a column that was not looked for.
const unknown = -2

// row is a row of CSV with another text in place of its own.
func (w *Writer) row(own, text []byte) (row []byte, err error) {
	if w.textColumn == unknown {
		o := w.options
		o.Memory = nil // who reads the split may hold all there is
		if w.textColumn, err = csv.TextColumn(w.split, o); err != nil {
			return nil, err
		}
	}
	for i, cell := range cells(own, comma(w.split)) {
		if i > 0 {
			row = append(row, comma(w.split))
		}
		if i == w.textColumn {
			cell = fmt.Appendf(nil, `"%s"`, bytes.ReplaceAll(text, []byte(`"`), []byte(`""`)))
		}
		row = append(row, cell...)
	}
	return row, nil
}
