// Package identical stores, for each split of a run, which of its documents
// the join leaves out because an earlier one stands for them: later rows of an
// id, rows that were deleted, and documents that no verdict can tell from an
// earlier one. It is state that one stage hands to the next; formats.md
// describes the file. It never decides which documents those are.
package identical

import (
	"encoding/binary"
	"fmt"

	"github.com/neardup/neardup/job/internal/state"
)

// Kind is why a document is left out.
type Kind uint8

// The kinds.
const (
	DuplicateID Kind = iota // its id appeared earlier
	Deleted                 // the library was told to forget its id
	Equal                   // no verdict tells it from Of
	EqualShort              // the same of a short text
)

// Document is one that is left out.
type Document struct {
	Doc  uint64 // its number
	Kind Kind
	Of   uint64 // the smaller number of the document that stands for it, if they are equal
}

// IsEqual reports whether the document is equal to Of.
func (d *Document) IsEqual() bool { return d.Kind >= Equal }

// kind names the files. The body of one is, for each document in ascending
// order, a uvarint of its distance from the one before, or from the split's
// first, a byte with the kind, and, if it is equal to another, a uvarint of the
// distance to that.
const kind = "neardup identical 1"

// Writer writes the file of one split.
type Writer struct {
	path string
	last uint64
	buf  []byte
}

// Create starts the file at path, of a split whose first document is first.
func Create(path string, first uint64) *Writer { return &Writer{path: path, last: first} }

// Add appends a document; they come in ascending order.
func (w *Writer) Add(d Document) {
	w.buf = append(binary.AppendUvarint(w.buf, d.Doc-w.last), byte(d.Kind))
	if w.last = d.Doc; d.IsEqual() {
		w.buf = binary.AppendUvarint(w.buf, d.Doc-d.Of)
	}
}

// Commit writes the file, whole or not at all.
func (w *Writer) Commit() error { return state.Write(w.path, kind, w.buf) }

// Read calls yield with the documents of the file at path, of a split whose
// first document is first, in ascending order, until yield returns an error.
func Read(path string, first uint64, yield func(Document) error) error {
	b, err := state.Read(path, kind)
	if err != nil {
		return err
	}
	damaged := false
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			damaged = true
			return 0
		}
		b = b[n:]
		return v
	}
	d := Document{Doc: first}
	for len(b) > 0 {
		d.Doc += next()
		if damaged || len(b) == 0 {
			return fmt.Errorf("%s: %w", path, state.ErrDamaged)
		}
		d.Kind, d.Of = Kind(b[0]), 0
		b = b[1:]
		if d.IsEqual() {
			d.Of = d.Doc - next()
		}
		if damaged {
			return fmt.Errorf("%s: %w", path, state.ErrDamaged)
		}
		if err := yield(d); err != nil {
			return err
		}
	}
	return nil
}
