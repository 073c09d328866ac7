// Package decision stores, for each split of a run, what the stage cluster decided
// of its documents: their best match, their cluster, and whether the clean dump
// keeps them. It also stores the ids that the tables of a split need (Names).
//
// It is state that one stage hands to the next;
// job/docs/internals/run-directory.md describes the files. The package decides
// nothing.
package decision

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
)

// Folders within the run directory's state, with a file for each split.
const (
	Folder      = "decisions"
	NamesFolder = "names" // the ids that the tables need
	SitesFolder = "sites" // with output.annotate: the sites of clusters
)

// None stands in place of a document's number and says that there is no such document.
const None = uint64(1)<<(8*state.NumberBytes) - 1

// Decision is what was decided of a document. Documents that have neither a match
// nor a cluster and are kept have no Decision.
type Decision struct {
	Doc uint64 // its number

	Match     uint64 // best match in this run; None without one, and if InHistory
	Distance  uint8
	Evidence  data.Evidence
	Overlap   data.Overlap
	InHistory bool // its best match is in an earlier night

	Listed         bool   // the table of clusters has the document; else the next six fields are unset
	Cluster        uint64 // representative of its cluster; None if that is in an earlier night
	Size           uint32 // number of documents of this run in the cluster
	Component      uint64 // first document of its component; None without one
	Versions       uint64 // first document of the components that containment joins with its own; None without any
	Representative bool   // it is the representative of its cluster
	Group          uint64 // identifies the cluster within the run: Cluster or, if that is None, the cluster's first document

	Removal Removal // why the clean dump leaves it out
	Kept    Kept    // the document that stays for it, if it is removed
}

// Removal is why the clean dump leaves a document out.
type Removal uint8

// The removals. Stays is that of a document which the clean dump keeps.
const (
	Stays       Removal = iota
	Copy                // another document is the same
	Contained           // nearly all of it is in another document
	InHistory           // an earlier night keeps what is the same
	DuplicateID         // its id appeared earlier
	Deleted             // the library was told to forget its id
)

var removals = [...]string{Stays: "", Copy: "copy", Contained: "contained", InHistory: "history", DuplicateID: data.ReasonDuplicateID, Deleted: data.ReasonDeleted}

// String returns the removal as the table removed has it.
func (r Removal) String() string { return removals[min(int(r), len(removals)-1)] }

// Kept is the document that stays for one that is removed, with the evidence of
// this pair.
type Kept struct {
	Doc      uint64 // None: an earlier night has it, or there is none
	Distance uint8
	Evidence data.Evidence // of the removed document and Doc
	Overlap  data.Overlap
}

// NoneKept returns the Kept of a document for which no other one stays.
func NoneKept() Kept { return Kept{Doc: None, Overlap: data.UnknownOverlap()} }

// kind is the kind of the files. The body is the number of the split's first
// document, then the decisions in ascending order of document. Document numbers
// are as state.AppendNumber writes them, the other fields little-endian.
const (
	kind        = "neardup decisions 7"
	recordBytes = 7*state.NumberBytes + 2*state.FindingBytes + 4 + 1 + 1
)

// Writer writes the file of one split.
type Writer struct {
	path string
	buf  []byte
}

// Create starts the file at path, of a split whose first document is first.
func Create(path string, first uint64) *Writer {
	return &Writer{path: path, buf: state.AppendNumber(nil, first)}
}

// Add appends a decision. Call it in ascending order of document.
func (w *Writer) Add(d *Decision) {
	b := w.buf
	for _, n := range [...]uint64{d.Doc, d.Match, d.Cluster, d.Component, d.Versions, d.Group, d.Kept.Doc} {
		b = state.AppendNumber(b, n)
	}
	b = state.AppendFinding(b, d.Distance, d.Evidence, d.Overlap)
	b = state.AppendFinding(b, d.Kept.Distance, d.Kept.Evidence, d.Kept.Overlap)
	b = binary.LittleEndian.AppendUint32(b, d.Size)
	flags := byte(0)
	if d.InHistory {
		flags |= 1
	}
	if d.Representative {
		flags |= 2
	}
	if d.Listed {
		flags |= 4
	}
	w.buf = append(b, flags, byte(d.Removal))
}

// Commit writes the file, atomically.
func (w *Writer) Commit() error { return state.Write(w.path, kind, w.buf) }

// Split is the decisions of one split.
type Split struct {
	First uint64 // number of its first document
	b     []byte
}

// Read reads the file at path.
func Read(path string) (*Split, error) {
	b, err := state.Read(path, kind)
	if err != nil {
		return nil, err
	}
	return &Split{First: state.Number(b), b: b[state.NumberBytes:]}, nil
}

// Len returns the number of decisions.
func (s *Split) Len() int { return len(s.b) / recordBytes }

// At sets d to decision i.
func (s *Split) At(i int, d *Decision) {
	b := s.b[i*recordBytes : (i+1)*recordBytes]
	for _, n := range [...]*uint64{&d.Doc, &d.Match, &d.Cluster, &d.Component, &d.Versions, &d.Group, &d.Kept.Doc} {
		*n = state.Number(b)
		b = b[state.NumberBytes:]
	}
	d.Distance, d.Evidence, d.Overlap = state.Finding(b)
	d.Kept.Distance, d.Kept.Evidence, d.Kept.Overlap = state.Finding(b[state.FindingBytes:])
	b = b[2*state.FindingBytes:]
	d.Size = binary.LittleEndian.Uint32(b)
	d.InHistory, d.Representative, d.Listed = b[4]&1 != 0, b[4]&2 != 0, b[4]&4 != 0
	d.Removal = Removal(b[5])
}

// Names calls yield, once each, with the documents whose ids the tables have for
// d: itself, its match in the run, those that its cluster, component and versions
// are named after, and the document that stays for it. The order is fixed: it is
// the order of a split's Names.
func (d *Decision) Names(yield func(doc uint64) error) error {
	all := [...]uint64{d.Doc, d.Match, d.Cluster, d.Component, d.Versions, d.Kept.Doc}
	for i, doc := range all {
		if doc == None || slices.Contains(all[:i], doc) {
			continue
		}
		if err := yield(doc); err != nil {
			return err
		}
	}
	return nil
}

const kindNames = "neardup names 2"

// AppendName appends the record of a name: the document's number, a uvarint of
// the length of its id, and the id.
func AppendName(dst []byte, doc uint64, id []byte) []byte {
	dst = binary.AppendUvarint(state.AppendNumber(dst, doc), uint64(len(id)))
	return append(dst, id...)
}

// WriteNames writes the names that the tables of a split need. records are theirs,
// in the order in which the stage write asks for them.
func WriteNames(path string, records []byte) error { return state.Write(path, kindNames, records) }

// Names reads the ids that the tables of a split need, in order.
type Names struct {
	path string
	b    []byte
}

// ReadNames reads the file of a split.
func ReadNames(path string) (*Names, error) {
	b, err := state.Read(path, kindNames)
	return &Names{path, b}, err
}

// Next returns the next id, which the caller must not change. It returns an error
// if that is not the id of doc.
func (n *Names) Next(doc uint64) ([]byte, error) {
	if len(n.b) > state.NumberBytes && state.Number(n.b) == doc {
		length, size := binary.Uvarint(n.b[state.NumberBytes:])
		start := state.NumberBytes + size
		if size > 0 && length <= uint64(len(n.b)-start) {
			end := start + int(length)
			id := n.b[start:end:end]
			n.b = n.b[end:]
			return id, nil
		}
	}
	return nil, fmt.Errorf("%s: the id of document %d is not where it is needed: this is a defect of neardup", n.path, doc)
}
