// Package exactdup stores, for each split of a run, the documents that exact dedup
// leaves out of the join: later documents with the same id, deleted documents,
// and documents that no verdict can tell from an earlier one.
//
// It is state that one stage hands to the next;
// job/docs/internals/run-directory.md describes the file. The package never
// decides which documents these are.
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

// Document is a document that is left out.
type Document struct {
	Doc  uint64 // its number
	Kind Kind
	Of   uint64 // number of the earlier document that stands for it; 0 for Deleted
}

// IsEqual reports whether the document is equal to Of.
func (d *Document) IsEqual() bool { return d.Kind >= Equal }

// Folder has, within the run directory's state, a file for each split.
const Folder = "exact"

// FileKind is the kind of the files, in the sense of package state. The body is
// records in ascending order of document: its number, its kind (1 byte), the
// number of the document that stands for it.
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
