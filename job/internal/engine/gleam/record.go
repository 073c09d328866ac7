//go:build linux

package gleam

import (
	"encoding/binary"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// Records of the shuffle travel without what the receiver can work out: the
// table and the fingerprint stand for key and suffix (of the tables without
// segments, value and suffix in its place). Little-endian, but for the numbers
// (state.AppendNumber):
//
//	posting  table u16, fingerprint 8 bytes (16 at 128 bits, low half first), document
//	list     table u16, fingerprint, number of documents u32, documents …

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
	return state.AppendNumber(p.appendHead(dst, key.Table(), packed), r.Doc)
}

func (p packing) printBytes() int {
	if p.wide {
		return 16
	}
	return 8
}

func (p packing) postingBytes() int { return 2 + p.printBytes() + state.NumberBytes }

// headBytes is the size of what a posting list has before its documents.
func (p packing) headBytes() int { return 2 + p.printBytes() + 4 }

func (p packing) appendHead(dst []byte, table int, f simhash.Fingerprint) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(table))
	dst = binary.LittleEndian.AppendUint64(dst, f.Lo)
	if p.wide {
		dst = binary.LittleEndian.AppendUint64(dst, f.Hi)
	}
	return dst
}

func (p packing) head(b []byte) (table int, f simhash.Fingerprint, err error) {
	table = int(binary.LittleEndian.Uint16(b))
	if table >= p.tables {
		return 0, f, fmt.Errorf("%w: table %d of %d", wire.ErrFrame, table, p.tables)
	}
	f.Lo = binary.LittleEndian.Uint64(b[2:])
	if p.wide {
		f.Hi = binary.LittleEndian.Uint64(b[10:])
	}
	return table, f, nil
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
	size := t.p.postingBytes()
	if len(f.Payload) != int(f.Records)*size {
		return fmt.Errorf("%w: %d bytes for %d records", wire.ErrFrame, len(f.Payload), f.Records)
	}
	for b := f.Payload; len(b) > 0; b = b[size:] {
		table, print, err := t.p.head(b)
		if err != nil {
			return err
		}
		t.tables[table].Add(columns.Of[F](print.Hi, print.Lo), state.Number(b[size-state.NumberBytes:]))
	}
	return nil
}

// appendList appends a posting list with some of its documents.
func appendList[F columns.Fingerprint](p packing, dst []byte, table int, value F, docs []uint64) []byte {
	dst = p.appendHead(dst, table, simhash.Fingerprint(columns.Word(&value)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(docs)))
	for _, d := range docs {
		dst = state.AppendNumber(dst, d)
	}
	return dst
}

// addPostingLists adds the posting lists of a frame.
func (t *partition[F]) addPostingLists(f wire.Frame) error {
	head := t.p.headBytes()
	n := uint32(0)
	for b := f.Payload; len(b) > 0; n++ {
		if len(b) < head {
			return fmt.Errorf("%w: %d bytes left for a posting list", wire.ErrFrame, len(b))
		}
		table, print, err := t.p.head(b)
		if err != nil {
			return err
		}
		count := int(binary.LittleEndian.Uint32(b[head-4:]))
		if count == 0 || count > (len(b)-head)/state.NumberBytes {
			return fmt.Errorf("%w: a posting list of %d documents in %d bytes", wire.ErrFrame, count, len(b))
		}
		end := head + state.NumberBytes*count
		t.docs = t.docs[:0]
		for d := b[head:end]; len(d) > 0; d = d[state.NumberBytes:] {
			t.docs = append(t.docs, state.Number(d))
		}
		t.tables[table].Add(columns.Of[F](print.Hi, print.Lo), t.docs...)
		b = b[end:]
	}
	if n != f.Records {
		return fmt.Errorf("%w: %d posting lists, its header says %d", wire.ErrFrame, n, f.Records)
	}
	return nil
}
