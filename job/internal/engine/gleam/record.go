//go:build linux

package gleam

import (
	"encoding/binary"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// Records of the shuffle travel without what the receiver can work out: the
// table and the fingerprint stand for key and suffix (of the tables without
// segments, value and suffix in its place). The fingerprint is little-endian, 8 bytes
// (16 at 128 bits, low half first), the other numbers are varints:
//
//	posting  table, fingerprint, document
//	list     table, fingerprint, number of documents, the first, differences …

// listDocs is how many documents one record of a posting list holds at most; a list of
// more is sent as several, one after the other.
const listDocs = 64 << 10

// packing packs and unpacks records of one rule and the layouts of its tiers.
type packing struct {
	tiers  mapper.Tiers
	rule   mapper.Rule
	keys   *mapper.KeyEmitter
	tables int
	wide   bool
}

// newPacking returns the packing for tiers of these sizes.
func newPacking(c config.Config, rule mapper.Rule, sizes []uint64) (packing, error) {
	p := packing{tiers: rule.Tiers(), rule: rule, wide: c.Features.Bits > 64}
	if len(sizes) != len(p.tiers) {
		return p, fmt.Errorf("%w: sizes of %d tiers of %d", wire.ErrFrame, len(sizes), len(p.tiers))
	}
	if err := p.tiers.Choose(c.Features.Bits, sizes); err != nil {
		return p, err
	}
	p.keys = mapper.NewKeyEmitter(p.tiers, p.rule)
	p.tables = p.keys.Tables()
	return p, nil
}

// columns are those of the views that the keys are made of.
func (p packing) columns() views.Columns { return views.Reading(p.keys.Reads()) }

// appendPosting appends the record of a document under a key.
func (p packing) appendPosting(dst []byte, r data.Posting) []byte {
	key := simhash.Key(r.Key)
	packed := p.keys.Pack(key, simhash.Fingerprint{Hi: r.Hi, Lo: r.Lo})
	return binary.AppendUvarint(p.appendHead(dst, key.Table(), packed), r.Doc)
}

func (p packing) appendHead(dst []byte, table int, f simhash.Fingerprint) []byte {
	dst = binary.AppendUvarint(dst, uint64(table))
	dst = binary.LittleEndian.AppendUint64(dst, f.Lo)
	if p.wide {
		dst = binary.LittleEndian.AppendUint64(dst, f.Hi)
	}
	return dst
}

// records reads the records of a frame.
type records struct {
	p      packing
	left   []byte
	failed bool // a record is cut off, or is of no table
}

// number reads a varint.
func (r *records) number() uint64 {
	n, size := binary.Uvarint(r.left)
	if size <= 0 {
		r.left, r.failed = nil, true
		return 0
	}
	r.left = r.left[size:]
	return n
}

// word reads half of a fingerprint.
func (r *records) word() (w uint64) {
	if len(r.left) < 8 {
		r.left, r.failed = nil, true
		return 0
	}
	w, r.left = binary.LittleEndian.Uint64(r.left), r.left[8:]
	return w
}

// head reads what appendHead wrote.
func (r *records) head() (table int, f simhash.Fingerprint) {
	n := r.number()
	f.Lo = r.word()
	if r.p.wide {
		f.Hi = r.word()
	}
	if n >= uint64(r.p.tables) {
		r.left, r.failed = nil, true
		return 0, f
	}
	return int(n), f
}

// whole returns an error unless so many records were read, and each was whole.
func (r *records) whole(read uint32, f wire.Frame) error {
	if r.failed || read != f.Records {
		return fmt.Errorf("%w: its header says %d records, %d bytes hold %d", wire.ErrFrame, f.Records, len(f.Payload), read)
	}
	return nil
}

// partition is the postings of a task of a reduce, by table.
type partition[F columns.Fingerprint] struct {
	p      packing
	tables []reducer.Postings[F]
	docs   []uint64
}

func newPartition[F columns.Fingerprint](p packing) *partition[F] {
	return &partition[F]{p: p, tables: make([]reducer.Postings[F], p.tables)}
}

// uneven is the part, one in so many, that a task may get beyond its even share.
const uneven = 16

// partitionOf returns the worker's partition, empty, with room for its share of each
// table's references.
func partitionOf[F columns.Fingerprint](w *worker, p packing, m matchPayload) *partition[F] {
	t := newPartition[F](p)
	_, tasks := w.tasks(w.step)
	for table := m.First; table < m.Last; table++ {
		share := int(m.Tables[table]) / tasks
		t.tables[table].Grow(share + share/uneven)
	}
	return t
}

// addPostings adds the postings of a frame.
func (t *partition[F]) addPostings(f wire.Frame) error {
	r, n := records{p: t.p, left: f.Payload}, uint32(0)
	for len(r.left) > 0 {
		table, print := r.head()
		if doc := r.number(); !r.failed {
			t.tables[table].Add(columns.Of[F](print.Hi, print.Lo), doc)
			n++
		}
	}
	return r.whole(n, f)
}

// appendList appends a posting list with some of its documents, which ascend.
func appendList[F columns.Fingerprint](p packing, dst []byte, table int, value *F, docs []uint64) []byte {
	dst = p.appendHead(dst, table, simhash.Fingerprint(columns.Word(value)))
	dst = binary.AppendUvarint(dst, uint64(len(docs)))
	before := uint64(0)
	for _, doc := range docs {
		dst = binary.AppendUvarint(dst, doc-before)
		before = doc
	}
	return dst
}

// addPostingLists adds the posting lists of a frame.
func (t *partition[F]) addPostingLists(f wire.Frame) error {
	r, n := records{p: t.p, left: f.Payload}, uint32(0)
	for len(r.left) > 0 {
		table, print := r.head()
		t.docs = t.docs[:0]
		doc := uint64(0)
		for count := r.number(); count > 0 && !r.failed; count-- {
			doc += r.number()
			t.docs = append(t.docs, doc)
		}
		if r.failed = r.failed || len(t.docs) == 0; r.failed {
			break
		}
		t.tables[table].Add(columns.Of[F](print.Hi, print.Lo), t.docs...)
		n++
	}
	return r.whole(n, f)
}
