// Package mapper holds the map stages of the job as pure functions. It knows no
// engine, no file format and no flag.
//
//	document        ─ Fingerprinter ─────────────► fingerprint row and its view
//	view            ─ KeyEmitter ────────────────► postings: key, suffix, document
//	                  (package reducer gathers the postings of a key: a group)
//	group           ─ SegmentComparer, Comparer ─► candidate pairs
//	candidate pair  ─ Verifier ──────────────────► verdict with its evidence
//
// A view ([data.View]) is all that a verdict reads of a document: fingerprint,
// sketch, length, the letters of a short text, the sample. Documents with equal
// views get equal verdicts, so [Units] keep each distinct view once.
//
// Two documents may share keys in several tables, and several in one table. Their
// pair is still reported once, without a list of the pairs seen so far: each
// place where they meet computes, from the two views alone, which shared key is
// the first, and reports the pair only if it is its own.
//
// [Rule.Candidate] says which pairs the whole join has to find; [Index] finds
// the same among the documents of earlier nights.
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

// Fingerprinter is the first map: it turns documents into fingerprint rows. It
// reuses its buffers, so only one goroutine may use it at a time.
type Fingerprinter struct {
	Samples    bool // also fill in samples; has no effect without sketches
	Signatures bool // also fill in signatures; has no effect without sketches

	workspace *simhash.Workspace
	sketches  bool
	templates *template.Model
	text      []byte
	maker     sketch.Maker
	letters   []rune
}

// NewFingerprinter returns a Fingerprinter that works in w. With sketches, rows
// also get what verification reads: the sketch and, of a short text, its letters.
// The Fingerprinter removes from each text the boilerplate that templates holds
// for the document's site; nil templates remove nothing.
func NewFingerprinter(w *simhash.Workspace, sketches bool, templates *template.Model) *Fingerprinter {
	return &Fingerprinter{workspace: w, sketches: sketches, templates: templates}
}

// Text returns what is compared of the document: its text without title and summary,
// if it is short news, and without its site's boilerplate. The result is valid until
// the next call.
func (f *Fingerprinter) Text(doc *data.Document) []byte {
	text, _ := f.own(doc)
	return text
}

// own is Text, and says how much boilerplate it removed.
func (f *Fingerprinter) own(doc *data.Document) ([]byte, template.Left) {
	site, text := template.Site(doc.ID), doc.Compared()
	if blocks, _ := f.templates.Site(site); blocks == 0 {
		return text, template.Left{}
	}
	var left template.Left
	f.text, left = f.templates.Suppress(f.text[:0], site, text)
	return f.text, left
}

// Fingerprint fills in row from doc. The row then refers to bytes of doc, and
// keeps its own Sketch, Letters, Sample and Signature buffers, whose contents are replaced.
func (f *Fingerprinter) Fingerprint(doc *data.Document, source string, row *data.FingerprintRow) {
	own, left := f.own(doc)
	title, lane := doc.Title, ""
	if left.All { // nothing but boilerplate: it is like no document, even one of the same boilerplate
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
		Signature:   row.Signature[:0],
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
			row.Sample = row.Sample[:0] // many unrelated texts contain so few words
			return                      // nor has it a signature: edits decide
		}
	}
	if f.Signatures && n > 0 {
		var signature sketch.Signature
		f.maker.Signature(&signature)
		row.Signature = append(row.Signature, signature[:]...)
	}
}

// View sets v to the view of row: the part of it that a verdict reads. Letters
// and Sample of v are slices of the row.
func View(row *data.FingerprintRow, v *data.View) {
	*v = data.View{
		Hi: row.Hi, Lo: row.Lo,
		Length:  uint32(max(row.Length, 0)),
		Normal:  row.LengthClass == simhash.LengthNormal,
		Letters: row.Letters, Sample: row.Sample,
	}
	copy(v.Sketch[:], row.Sketch)
}
