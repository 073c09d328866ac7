//go:build linux

package gleam

import (
	"encoding/binary"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// Records of the shuffle travel without what the receiver can work out: the
// table and the fingerprint stand for key and rest (of the tables without
// segments, value and rest in its place). Little-endian, but for the numbers
// (state.AppendNumber):
//
//	keyed  table u16, fingerprint 8 bytes (16 at 128 bits, low half first), document
//	entry  table u16, fingerprint, number of documents u32, documents …

// entryDocs is how many documents one entry record holds at most; an entry of
// more is sent as several, one after the other.
const entryDocs = 64 << 10

// packing packs and unpacks records of one layout and rule.
type packing struct {
	layout *simhash.Layout
	rule   mapper.Rule
	keys   *mapper.Map
	tables int
	wide   bool
}

func newPacking(c config.Config) (packing, error) {
	layout, err := simhash.NewLayout(c.Features.Bits, c.Match.Distance)
	if err != nil {
		return packing{}, err
	}
	p := packing{layout: layout, rule: engine.Rule(c.Match), wide: c.Features.Bits > 64}
	p.keys = mapper.NewMap(layout, p.rule)
	p.tables = p.keys.Tables()
	return p, nil
}

// columns are those of the views that the keys are made of.
func (p packing) columns() views.Columns {
	if p.tables > p.layout.Tables() {
		return views.Verdict
	}
	return 0
}

// appendKeyed appends the record of a document under a key.
func (p packing) appendKeyed(dst []byte, r data.Keyed) []byte {
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

func (p packing) keyedBytes() int { return 2 + p.printBytes() + state.NumberBytes }

// headBytes is the size of what an entry has before its documents.
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

// keyed appends the records of a frame to records.
func (p packing) keyed(records []data.Keyed, f wire.Frame) ([]data.Keyed, error) {
	size := p.keyedBytes()
	if len(f.Payload) != int(f.Records)*size {
		return records, fmt.Errorf("%w: %d bytes for %d records", wire.ErrFrame, len(f.Payload), f.Records)
	}
	for b := f.Payload; len(b) > 0; b = b[size:] {
		table, print, err := p.head(b)
		if err != nil {
			return records, err
		}
		r := p.keys.Unpack(table, print)
		r.Doc = state.Number(b[size-state.NumberBytes:])
		records = append(records, r)
	}
	return records, nil
}

// appendEntry appends an entry with some of its documents.
func (p packing) appendEntry(dst []byte, e *data.Entry, docs []uint64) []byte {
	key := simhash.Key(e.Key)
	dst = p.appendHead(dst, key.Table(), p.keys.Pack(key, simhash.Fingerprint{Hi: e.Hi, Lo: e.Lo}))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(docs)))
	for _, d := range docs {
		dst = state.AppendNumber(dst, d)
	}
	return dst
}

// entries are those that one partial reduce sent to a final reduce, kept packed
// until they are read: a reference takes a few bytes.
type entries struct {
	p       packing
	frames  [][]byte // their payloads
	current []byte   // what is left of the first
	docs    []uint64 // of the entry that next returned
}

// add takes a frame's entries; it keeps the payload.
func (es *entries) add(f wire.Frame) error {
	head := es.p.headBytes()
	n := uint32(0)
	for b := f.Payload; len(b) > 0; n++ {
		if len(b) < head {
			return fmt.Errorf("%w: %d bytes left for an entry", wire.ErrFrame, len(b))
		}
		if _, _, err := es.p.head(b); err != nil {
			return err
		}
		count := int(binary.LittleEndian.Uint32(b[head-4:]))
		if count == 0 || count > (len(b)-head)/state.NumberBytes {
			return fmt.Errorf("%w: an entry of %d documents in %d bytes", wire.ErrFrame, count, len(b))
		}
		b = b[head+state.NumberBytes*count:]
	}
	if n != f.Records {
		return fmt.Errorf("%w: %d entries, its header says %d", wire.ErrFrame, n, f.Records)
	}
	es.frames = append(es.frames, f.Payload)
	return nil
}

// next is a reducer.Part. It drops each frame that was read.
func (es *entries) next(e *data.Entry) (bool, error) {
	for len(es.current) == 0 {
		if len(es.frames) == 0 {
			return false, nil
		}
		es.current, es.frames[0], es.frames = es.frames[0], nil, es.frames[1:]
	}
	table, print, err := es.p.head(es.current)
	if err != nil {
		return false, err
	}
	head := es.p.headBytes()
	end := head + state.NumberBytes*int(binary.LittleEndian.Uint32(es.current[head-4:]))
	es.docs = es.docs[:0]
	for b := es.current[head:end]; len(b) > 0; b = b[state.NumberBytes:] {
		es.docs = append(es.docs, state.Number(b))
	}
	es.current = es.current[end:]
	k := es.p.keys.Unpack(table, print)
	e.Key, e.Hi, e.Lo, e.Docs = k.Key, k.Hi, k.Lo, es.docs
	return true, nil
}
