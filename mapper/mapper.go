// Package mapper holds the map stages of the job as pure functions: a document
// becomes a fingerprint, a fingerprint its keys, a group its candidate pairs, a
// candidate pair its verdict. They know no engine, no file format and no flag.
package mapper

import (
	"cmp"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/language"
	"github.com/neardup/neardup/simhash/sketch"
	"github.com/neardup/neardup/simhash/template"
)

// Fingerprinter is the first map. It holds buffers that are used again, so one
// goroutine uses it at a time.
type Fingerprinter struct {
	Samples bool // rows get samples too; needs sketches

	workspace *simhash.Workspace
	sketches  bool
	templates *template.Model
	text      []byte
	maker     sketch.Maker
	letters   []rune
}

// NewFingerprinter returns a Fingerprinter that works in w; sketches says that
// rows get what a verdict looks at, sketch and letters or sample. What templates, which
// may be nil, has of a document's site is left out of its text.
func NewFingerprinter(w *simhash.Workspace, sketches bool, templates *template.Model) *Fingerprinter {
	return &Fingerprinter{workspace: w, sketches: sketches, templates: templates}
}

// Text is the part of the document's text that is its own, valid until the
// next call.
func (f *Fingerprinter) Text(doc *data.Document) []byte {
	text, _ := f.own(doc)
	return text
}

// own is Text, with what was left out.
func (f *Fingerprinter) own(doc *data.Document) ([]byte, template.Left) {
	site := template.Site(doc.ID)
	if blocks, _ := f.templates.Site(site); blocks == 0 {
		return doc.Text, template.Left{}
	}
	var left template.Left
	f.text, left = f.templates.Suppress(f.text[:0], site, doc.Text)
	return f.text, left
}

// Fingerprint fills row from doc, whose bytes row then refers to. It uses the
// row's sketch, letters and sample again.
func (f *Fingerprinter) Fingerprint(doc *data.Document, source string, row *data.FingerprintRow) {
	own, left := f.own(doc)
	title, lane := doc.Title, ""
	if left.All { // which resembles nothing, not even its like
		title, own, lane = nil, nil, simhash.LengthTemplate
	}
	r := f.workspace.Fingerprint(title, own)
	*row = data.FingerprintRow{
		DocID:       doc.ID,
		Hi:          r.Fingerprint.Hi,
		Lo:          r.Fingerprint.Lo,
		LengthClass: cmp.Or(lane, r.LengthClass),
		Features:    int32(r.Features),
		Length:      int32(r.Length),
		Template:    int32(left.Characters),
		Sketch:      row.Sketch[:0],
		Letters:     row.Letters[:0],
		Sample:      row.Sample[:0],
		Title:       doc.Title,
		Source:      source,
		Offset:      doc.Offset,
		Date:        doc.Date,
		Rank:        doc.Rank,
		Language:    language.Of(doc.Language, f.workspace.Normal()),
		Site:        template.Site(doc.ID),
	}
	if !f.sketches {
		return
	}
	var s sketch.Sketch
	text := f.workspace.Normal()
	n := 0
	if f.Samples {
		n, row.Sample = f.maker.SketchAndSample(&s, row.Sample, text, r.Length)
	} else {
		n = f.maker.Sketch(&s, text)
	}
	if n > 0 {
		row.Sketch = append(row.Sketch, s[:]...)
	}
	var ok bool
	if f.letters, ok = sketch.ShortText(f.letters[:0], text); ok {
		for _, c := range f.letters {
			row.Letters = utf8.AppendRune(row.Letters, c)
		}
		if sketch.Few(row.Letters) {
			row.Sample = row.Sample[:0] // so few words stand in many a text that has nothing to do with it
		}
	}
}

// View sets v to what a verdict looks at of row. Its letters and its sample are
// the row's.
func View(row *data.FingerprintRow, v *data.View) {
	*v = data.View{
		Hi: row.Hi, Lo: row.Lo,
		Length:  uint32(max(row.Length, 0)),
		Normal:  row.LengthClass == simhash.LengthNormal,
		Letters: row.Letters, Sample: row.Sample,
	}
	copy(v.Sketch[:], row.Sketch)
}
