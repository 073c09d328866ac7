package gleam

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine/gleam/internal/wire"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// Records of the shuffle leave out what the receiver can work out: the table and
// the fingerprint stand for key and rest. Little-endian:
//
//	keyed  table u16, fingerprint 8 bytes (16 at 128 bits, low half first), document u32
//	       (in place of the fingerprint a further table has value and rest)
//	entry  table u16, fingerprint, number of documents u32, documents u32 …
//	pair   A u32, B u32, distance u8

const pairBytes = 9

// entryDocs is how many documents one entry record holds at most; an entry of
// more is sent as several, one after the other.
const entryDocs = 64 << 10

// packing packs and unpacks records of one layout, and of the further tables
// if pairs are verified.
type packing struct {
	layout *simhash.Layout
	tables int
	wide   bool
}

func newPacking(c config.Config) (packing, error) {
	layout, err := simhash.NewLayout(c.Features.Bits, c.Match.Distance)
	if err != nil {
		return packing{}, err
	}
	p := packing{layout: layout, tables: layout.Tables(), wide: c.Features.Bits > 64}
	if c.Match.Verified() {
		p.tables += mapper.FurtherTables
	}
	return p, nil
}

// appendKeyed appends the record of a document in a further table.
func (p packing) appendKeyed(dst []byte, r data.Keyed) []byte {
	packed := simhash.Fingerprint{Lo: mapper.PackFurther(p.layout.Tables(), r)}
	return binary.LittleEndian.AppendUint32(p.appendHead(dst, simhash.Key(r.Key).Table(), packed), r.Doc)
}

// references counts, for each table, the references to documents under its
// keys.
func (p packing) references(c config.Config, documents *numbered.Folder) ([]uint64, error) {
	n, parts := documents.Len(), runtime.GOMAXPROCS(0)
	counted := make([][]uint64, parts)
	var group errgroup.Group
	for part := range parts {
		group.Go(func() error {
			counts := make([]uint64, p.tables)
			counted[part] = counts
			m := mapper.NewFurther(p.layout.Tables(), c.Match.Bands, c.Match.ShortTexts)
			segments, further := counts[:p.layout.Tables()], counts[p.layout.Tables():]
			return documents.Views(n*part/parts, n*(part+1)/parts, func(_ uint32, v *data.View) {
				for t := 0; v.Normal && t < len(segments); t++ {
					segments[t]++
				}
				for t := range further {
					further[t] += uint64(len(m.Values(t, v)))
				}
			})
		})
	}
	err := group.Wait()
	counts := make([]uint64, p.tables)
	for _, part := range counted {
		for t, n := range part {
			counts[t] += n
		}
	}
	return counts, err
}

// record is what a head stands for, without the document.
func (p packing) record(table int, f simhash.Fingerprint) data.Keyed {
	if first := p.layout.Tables(); table >= first {
		return mapper.UnpackFurther(first, table, f.Lo)
	}
	return mapper.SegmentTable(p.layout, table, f, 0)
}

func (p packing) printBytes() int {
	if p.wide {
		return 16
	}
	return 8
}

// headBytes is the size of a keyed record, and of what an entry has before its
// documents.
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
	size := p.headBytes()
	if len(f.Payload) != int(f.Records)*size {
		return records, fmt.Errorf("%w: %d bytes for %d records", wire.ErrFrame, len(f.Payload), f.Records)
	}
	for b := f.Payload; len(b) > 0; b = b[size:] {
		table, print, err := p.head(b)
		if err != nil {
			return records, err
		}
		r := p.record(table, print)
		r.Doc = binary.LittleEndian.Uint32(b[size-4:])
		records = append(records, r)
	}
	return records, nil
}

// appendEntry appends an entry with some of its documents.
func (p packing) appendEntry(dst []byte, e *data.Entry, docs []uint32) []byte {
	key := simhash.Key(e.Key)
	print := simhash.Fingerprint{Hi: e.Hi, Lo: e.Lo}
	if first := p.layout.Tables(); key.Table() >= first {
		print = simhash.Fingerprint{Lo: mapper.PackFurther(first, data.Keyed{Key: e.Key, Lo: e.Lo})}
	} else {
		print = p.layout.Join(key, print)
	}
	dst = p.appendHead(dst, key.Table(), print)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(docs)))
	for _, d := range docs {
		dst = binary.LittleEndian.AppendUint32(dst, d)
	}
	return dst
}

// entries are those that one partial reduce sent to a final reduce, kept packed
// until they are read: a reference takes a few bytes.
type entries struct {
	p       packing
	frames  [][]byte // their payloads
	current []byte   // what is left of the first
	docs    []uint32 // of the entry that next returned
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
		if count == 0 || count > (len(b)-head)/4 {
			return fmt.Errorf("%w: an entry of %d documents in %d bytes", wire.ErrFrame, count, len(b))
		}
		b = b[head+4*count:]
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
	end := head + 4*int(binary.LittleEndian.Uint32(es.current[head-4:]))
	es.docs = es.docs[:0]
	for b := es.current[head:end]; len(b) > 0; b = b[4:] {
		es.docs = append(es.docs, binary.LittleEndian.Uint32(b))
	}
	es.current = es.current[end:]
	k := es.p.record(table, print)
	e.Key, e.Hi, e.Lo, e.Docs = k.Key, k.Hi, k.Lo, es.docs
	return true, nil
}

func appendPair(dst []byte, p data.Pair) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.A)
	dst = binary.LittleEndian.AppendUint32(dst, p.B)
	return append(dst, p.Distance)
}

func pairAt(b []byte) data.Pair {
	return data.Pair{A: binary.LittleEndian.Uint32(b), B: binary.LittleEndian.Uint32(b[4:]), Distance: b[8]}
}
