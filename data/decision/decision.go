// Package decision stores, for each split of a run, what was decided of its
// documents: their best match and their cluster. It is state that one stage
// hands to the next; formats.md describes the files. It decides nothing.
package decision

import (
	"encoding/binary"
	"fmt"

	"github.com/neardup/neardup/data"
)

// None stands for the number of a document that there is none of.
const None = uint64(1)<<(8*data.NumberBytes) - 1

// Decision is what was decided of a document that has a match or a cluster.
type Decision struct {
	Doc uint64 // its number

	Match    uint64 // the most similar other document; None without one in the run
	Distance uint8
	Evidence data.Evidence
	Overlap  data.Overlap
	Earlier  bool // its best match is in an earlier night

	Cluster uint64 // the first document of its cluster; None without one
	Size    uint32 // documents of the cluster
	Keeper  bool   // it is the one that the clean dump keeps
}

// kind names the files. The body of one is the number of the split's first
// document, then the decisions in ascending order of document: the numbers as
// of data.AppendNumber, the other fields little-endian.
const (
	kind        = "neardup decisions 2"
	recordBytes = 3*data.NumberBytes + 1 + 1 + 2 + data.OverlapBytes + 4 + 1
)

// Writer writes the file of one split.
type Writer struct {
	path string
	buf  []byte
}

// Create starts the file at path, of a split whose first document is first.
func Create(path string, first uint64) *Writer {
	return &Writer{path: path, buf: data.AppendNumber(nil, first)}
}

// Add appends a decision; they come in ascending order of document.
func (w *Writer) Add(d *Decision) {
	b := w.buf
	for _, n := range [...]uint64{d.Doc, d.Match, d.Cluster} {
		b = data.AppendNumber(b, n)
	}
	b = append(b, d.Distance, byte(d.Evidence.Reason))
	b = d.Overlap.Append(binary.LittleEndian.AppendUint16(b, d.Evidence.Figure))
	b = binary.LittleEndian.AppendUint32(b, d.Size)
	flags := byte(0)
	if d.Earlier {
		flags |= 1
	}
	if d.Keeper {
		flags |= 2
	}
	w.buf = append(b, flags)
}

// Commit writes the file, whole or not at all.
func (w *Writer) Commit() error { return data.WriteChecked(w.path, kind, w.buf) }

// Split is the decisions of one split.
type Split struct {
	First uint64 // number of its first document
	b     []byte
}

// Read reads the file at path.
func Read(path string) (*Split, error) {
	b, err := data.ReadChecked(path, kind)
	if err != nil {
		return nil, err
	}
	if len(b) < data.NumberBytes || (len(b)-data.NumberBytes)%recordBytes != 0 {
		return nil, fmt.Errorf("%s: %w", path, data.ErrDamaged)
	}
	return &Split{First: data.Number(b), b: b[data.NumberBytes:]}, nil
}

// Len is the number of decisions.
func (s *Split) Len() int { return len(s.b) / recordBytes }

// At sets d to decision i.
func (s *Split) At(i int, d *Decision) {
	b := s.b[i*recordBytes : (i+1)*recordBytes]
	d.Doc, d.Match, d.Cluster = data.Number(b), data.Number(b[data.NumberBytes:]), data.Number(b[2*data.NumberBytes:])
	b = b[3*data.NumberBytes:]
	d.Distance, d.Evidence.Reason = b[0], data.Reason(b[1])
	d.Evidence.Figure = binary.LittleEndian.Uint16(b[2:])
	d.Overlap = data.UnpackOverlap(b[4:])
	b = b[4+data.OverlapBytes:]
	d.Size = binary.LittleEndian.Uint32(b)
	d.Earlier, d.Keeper = b[4]&1 != 0, b[4]&2 != 0
}

const kindNames = "neardup names 1"

// NamesWriter writes the file of the ids of other documents that the tables of
// a split name: for each document a uvarint of its distance from the one
// before, a uvarint of the length of its id, and the id.
type NamesWriter struct {
	path string
	last uint64
	buf  []byte
}

// CreateNames starts the file at path, of about so many bytes.
func CreateNames(path string, size int64) *NamesWriter {
	return &NamesWriter{path: path, buf: make([]byte, 0, size)}
}

// Add appends the id of a document; they come in ascending order.
func (w *NamesWriter) Add(doc uint64, id []byte) {
	w.buf = binary.AppendUvarint(w.buf, doc-w.last)
	w.buf = binary.AppendUvarint(w.buf, uint64(len(id)))
	w.buf = append(w.buf, id...)
	w.last = doc
}

// Commit writes the file, whole or not at all.
func (w *NamesWriter) Commit() error { return data.WriteChecked(w.path, kindNames, w.buf) }

// Names are the ids of documents.
type Names struct {
	b     []byte
	names []name
	shift uint     // of a document's number to its place in at
	at    []uint32 // the first name of each place, or behind it
}

// name says where a document's id stands, behind its length.
type name struct {
	doc uint64
	at  int
}

// ReadNames reads what a NamesWriter wrote.
func ReadNames(path string) (*Names, error) {
	b, err := data.ReadChecked(path, kindNames)
	if err != nil {
		return nil, err
	}
	n := &Names{b: b}
	doc := uint64(0)
	for at := 0; at < len(b); {
		step, x := binary.Uvarint(b[at:])
		length, y := binary.Uvarint(b[at+max(x, 0):])
		if x <= 0 || y <= 0 || length > uint64(len(b)-at-x-y) {
			return nil, fmt.Errorf("%s: %w", path, data.ErrDamaged)
		}
		doc += step
		n.names = append(n.names, name{doc, at + x})
		at += x + y + int(length)
	}
	for doc>>n.shift > uint64(len(n.names)) {
		n.shift++
	}
	n.at = make([]uint32, doc>>n.shift+2)
	i := len(n.names)
	for place := len(n.at) - 1; place >= 0; place-- {
		for i > 0 && n.names[i-1].doc>>n.shift >= uint64(place) {
			i--
		}
		n.at[place] = uint32(i)
	}
	return n, nil
}

// ID is the id of a document; it is not to be changed.
func (n *Names) ID(doc uint64) ([]byte, bool) {
	if doc>>n.shift >= uint64(len(n.at)) {
		return nil, false
	}
	for _, x := range n.names[n.at[doc>>n.shift]:] {
		if x.doc == doc {
			length, size := binary.Uvarint(n.b[x.at:])
			return n.b[x.at+size:][:length], true
		}
		if x.doc > doc {
			break
		}
	}
	return nil, false
}
