// Package exactdup stores, for each split of a run, which of its documents
// the join leaves out because an earlier one stands for them: later rows of an
// id, rows that were deleted, and documents that no verdict can tell from an
// earlier one. It is state that one stage hands to the next; run-directory.md
// describes the file. It never decides which documents those are.
package exactdup

import "github.com/neardup/neardup/job/internal/state"

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
	Of   uint64 // if they are equal, the smaller number of the document that stands for it
}

// IsEqual reports whether the document is equal to Of.
func (d *Document) IsEqual() bool { return d.Kind >= Equal }

// FileKind names the files, as of package state. The body of one is the records
// of the documents in ascending order: number, kind in a byte, number of the
// document that stands for it.
const FileKind = "neardup exact duplicates 3"

// RecordBytes is the width of a document's record.
const RecordBytes = state.NumberBytes + 1 + state.NumberBytes

// Append appends the records of documents, which sort as the documents do.
func Append(dst []byte, docs ...Document) []byte {
	for _, d := range docs {
		dst = state.AppendNumber(append(state.AppendNumber(dst, d.Doc), byte(d.Kind)), d.Of)
	}
	return dst
}

// Read calls yield with the documents of the file at path, in ascending order,
// until yield returns an error.
func Read(path string, yield func(Document) error) error {
	b, err := state.Read(path, FileKind)
	for ; err == nil && len(b) > 0; b = b[RecordBytes:] {
		err = yield(Document{Doc: state.Number(b), Kind: Kind(b[state.NumberBytes]), Of: state.Number(b[state.NumberBytes+1:])})
	}
	return err
}
