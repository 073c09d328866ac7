// Package jsonl reads documents from JSON lines: one object a line, plain or
// compressed. It checks every line in full and skips what is no JSON; it
// never repairs a line, and never reads keys below the top level.
package jsonl

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/internal/stream"
)

const (
	checkLines = 1000    // a named column has to appear in so many first lines
	keptRaw    = 1 << 20 // of a line that is too large
)

// unwanted is the field of a key that fills none.
const unwanted = -1

// match is what a key fills; of several keys for one field the lowest rank
// wins, of the same key twice the last.
type match struct{ field, rank int }

// reader reads the documents of a JSONL split.
type reader struct {
	*stream.Text
	path  string
	opts  data.ReaderOptions
	limit int

	names   map[string]match   // wanted keys, exact
	folded  map[string]match   // in lower case, for the keys that fit only so
	found   [field.Fields]span // in the current line
	ranks   [field.Fields]int
	scratch []byte
	line    []byte
	visit   func(key, value span)
}

// Open reads the documents of a JSONL split. Its Start and End, when they are
// not those of the whole file, stand at line ends.
func Open(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	in, err := stream.OpenText("jsonl", true, split, o)
	if err != nil {
		return nil, err
	}
	r := &reader{Text: in, path: split.Path, opts: o, limit: int(o.RecordLimit())}
	r.visit = r.field
	if explicit := r.wanted(); split.Start == 0 && len(explicit) > 0 {
		if err := r.check(explicit); err != nil {
			return nil, errors.Join(fmt.Errorf("jsonl: %s: %w", split.Path, err), in.Close())
		}
	}
	return r, nil
}

// Retexter writes lines with other texts. It is used by one goroutine.
type Retexter struct{ lines reader }

// NewRetexter returns a Retexter for lines of which a reader with such columns reads the
// documents.
func NewRetexter(c data.Columns) *Retexter {
	t := &Retexter{reader{opts: data.ReaderOptions{Columns: c}}}
	t.lines.visit = t.lines.field
	t.lines.wanted()
	return t
}

// Append appends line, a line that holds one object with a text, to dst, with another
// text in place of its own. All else stays byte by byte.
func (t *Retexter) Append(dst, line, text []byte) ([]byte, error) {
	r := &t.lines
	r.line, r.found = line, [field.Fields]span{}
	if err := object(line, r.visit); err != nil {
		return dst, err
	}
	own := r.found[field.Text]
	if own.kind != kindString {
		return dst, r.noText(own)
	}
	dst = append(dst, line[:own.start-1]...) // without the quote
	dst = appendString(dst, text)
	return append(dst, line[own.end+1:]...), nil
}

// wanted fills the tables of keys, and returns the names that were given.
func (r *reader) wanted() []string {
	r.names, r.folded = make(map[string]match), make(map[string]match)
	var explicit []string
	for f, name := range field.Names(r.opts.Columns) {
		if name != "" {
			r.names[name] = match{f, 0}
			explicit = append(explicit, name)
			continue
		}
		usual := field.Usual[f]
		for rank, name := range usual {
			if _, taken := r.names[name]; !taken {
				r.names[name] = match{f, rank}
				r.folded[name] = match{f, rank + len(usual)}
			}
		}
	}
	return explicit
}

// check makes sure that the first lines have the columns that were named, but
// for those that the options do without.
func (r *reader) check(explicit []string) error {
	have := make(map[string]bool)
	var names []string
	objects := 0
	rest := r.Window()
	for n := 0; n < checkLines && len(rest) > 0; n++ {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		rest = after
		if !whole && !r.AtEnd() {
			break
		}
		line = r.UTF8(line)
		if err := object(line, func(k, _ span) {
			name := unescape(nil, line[k.start:k.end])
			if !have[string(name)] {
				have[string(name)] = true
				names = append(names, string(name))
			}
		}); err == nil {
			objects++
		}
	}
	if objects == 0 {
		return nil
	}
	slices.Sort(names)
	where := " in the first record"
	if objects > 1 {
		where = fmt.Sprintf(" in the first %d records", objects)
	}
	for _, name := range explicit {
		if have[name] {
			continue
		}
		if err := r.opts.TolerateMissing(&data.NoColumn{Name: name, Where: where, Have: names}); err != nil {
			return err
		}
	}
	return nil
}

// next returns the next line without its line feed, and its offset. whole
// tells that it had one. A line beyond the limit comes back cut, with
// tooLarge.
func (r *reader) next() (line []byte, offset int64, whole, tooLarge bool, err error) {
	for scanned := 0; ; {
		window := r.Window()
		offset = r.Offset()
		if i := bytes.IndexByte(window[scanned:], '\n'); i >= 0 {
			line = window[:scanned+i]
			r.Advance(len(line) + 1)
			return line, offset, true, len(line) > r.limit, nil
		}
		if scanned = len(window); scanned > r.limit {
			return r.discard(), offset, true, true, nil
		}
		if r.More() {
			continue
		}
		if len(window) == 0 || !r.AtEnd() {
			return nil, 0, false, false, r.End()
		}
		r.Advance(len(window))
		return window, offset, false, false, nil
	}
}

// discard reads over the rest of a line that is too large, and returns its
// first bytes.
func (r *reader) discard() []byte {
	window := r.Window()
	head := slices.Clone(window[:min(len(window), keptRaw)])
	for {
		i := bytes.IndexByte(window, '\n')
		if i >= 0 {
			r.Advance(i + 1)
			return head
		}
		r.Advance(len(window))
		if !r.More() {
			return head
		}
		window = r.Window()
	}
}

// Read fills doc with the next line's document; see data.Reader. White-space
// lines are no records.
func (r *reader) Read(doc *data.Document) error {
	for {
		line, offset, whole, tooLarge, err := r.next()
		if err != nil {
			return err
		}
		if tooLarge {
			return r.bad(line, offset, data.ReasonTooLarge, fmt.Errorf("longer than %d bytes", r.limit))
		}
		if space(line, 0) == len(line) {
			continue
		}
		if alone := r.opts.RawAlone; alone != nil && alone() {
			doc.Reset()
			doc.Offset, doc.Raw = offset, append(doc.Raw, r.UTF8(line)...)
			r.Shed()
			return nil
		}
		return r.parse(doc, r.UTF8(line), offset, whole)
	}
}

func (r *reader) parse(doc *data.Document, line []byte, offset int64, whole bool) error {
	doc.Reset()
	doc.Offset = offset
	r.line = line
	r.found = [field.Fields]span{}
	if err := object(line, r.visit); err != nil {
		if !whole && errors.Is(err, errEnd) {
			return r.bad(line, offset, data.ReasonTruncated, err)
		}
		return r.bad(line, offset, data.ReasonMalformed, err)
	}

	text := r.found[field.Text]
	if text.kind != kindString {
		return r.bad(line, offset, data.ReasonNoText, r.noText(text))
	}
	doc.Text = r.decode(doc.Text, text)
	if title := r.found[field.Title]; title.kind == kindString {
		doc.Title = r.decode(doc.Title, title)
	}
	if l := r.found[field.Language]; l.kind == kindString {
		doc.Language = r.decode(doc.Language, l)
	}
	switch id := r.found[field.ID]; id.kind {
	case kindString:
		doc.ID = r.decode(doc.ID, id)
	case kindNumber:
		doc.ID = append(doc.ID, line[id.start:id.end]...)
	case kindNone:
	default:
		return r.bad(line, offset, data.ReasonMalformed, errors.New("the id is neither a string nor a number"))
	}
	if len(doc.ID) == 0 {
		doc.ID = field.AppendDefaultID(doc.ID, r.path, offset)
	}
	switch date := r.found[field.Date]; date.kind {
	case kindString:
		r.scratch = r.decode(r.scratch[:0], date)
		doc.Date = field.ParseDate(r.scratch)
	case kindNumber:
		doc.Date = field.UnixDate(field.ParseNumber(line[date.start:date.end]))
	}
	switch rank := r.found[field.Rank]; rank.kind {
	case kindString, kindNumber:
		doc.Rank = field.ParseNumber(line[rank.start:rank.end])
	case kindTrue:
		doc.Rank = 1
	case kindFalse:
		doc.Rank = 0
	}
	if r.opts.KeepRaw {
		doc.Raw = append(doc.Raw, line...)
	}
	r.line = nil
	r.Shed()
	return nil
}

// noText says why a line has no text.
func (r *reader) noText(s span) error {
	if s.kind == kindNone {
		return field.NoText(r.opts.Columns.Text)
	}
	return fmt.Errorf("%s is no string", cmp.Or(r.opts.Columns.Text, strings.Join(field.Usual[field.Text], ", ")))
}

// field takes one key of a line.
func (r *reader) field(k, v span) {
	m := r.lookup(k)
	if m.field == unwanted || v.kind == kindNull {
		return
	}
	if r.found[m.field].kind == kindNone || m.rank <= r.ranks[m.field] {
		r.found[m.field], r.ranks[m.field] = v, m.rank
	}
}

func (r *reader) lookup(k span) match {
	text := r.line[k.start:k.end]
	if k.escaped {
		r.scratch = unescape(r.scratch[:0], text)
		text = r.scratch
	}
	if m, ok := r.names[string(text)]; ok {
		return m
	}
	if m, ok := r.folded[strings.ToLower(string(text))]; ok {
		return m
	}
	return match{field: unwanted}
}

// decode appends the string at s to dst.
func (r *reader) decode(dst []byte, s span) []byte {
	if s.escaped {
		return unescape(dst, r.line[s.start:s.end])
	}
	return append(dst, r.line[s.start:s.end]...)
}

func (r *reader) bad(line []byte, offset int64, reason string, err error) error {
	return &data.BadRecord{Source: r.path, Offset: offset, Reason: reason, Err: err, Raw: line}
}
