// Package mapper holds the map stages of the job as pure functions: a document
// becomes a fingerprint, a fingerprint its segment keys, a group its pairs.
// They know no engine, no file format and no flag, and never start a
// goroutine.
package mapper

import (
	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
)

// Fingerprint is the first map: it fills row from doc, whose bytes row then
// refers to. w is not safe for concurrent use.
func Fingerprint(w *simhash.Workspace, doc *data.Document, source string, row *data.FingerprintRow) {
	r := w.Fingerprint(doc.Title, doc.Text)
	*row = data.FingerprintRow{
		DocID:    doc.ID,
		Hi:       r.Fingerprint.Hi,
		Lo:       r.Fingerprint.Lo,
		Lane:     r.Lane.String(),
		Features: int32(r.Features),
		Length:   int32(r.Length),
		Title:    doc.Title,
		Source:   source,
		Offset:   doc.Offset,
		Date:     doc.Date,
		Rank:     doc.Rank,
	}
}
