package views

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// Scan calls yield with the documents numbered first to last − 1, in order. The row
// has the columns c set, and is reused: yield must not retain its letters or sample.
// An error of yield ends the scan, and Scan returns it unchanged. Scan reads the
// files in order, several blocks of a column at a time.
func (f *Folder) Scan(first, last uint64, c Columns, yield func(doc uint64, r *Row) error) error {
	if first > last || last > f.Len() {
		return fmt.Errorf("views: there are no documents %d to %d of %d", first, last, f.Len())
	}
	s := f.scanner(c)
	defer s.close()
	r := new(Row)
	if c&Keep != 0 && !f.form.Keep {
		r.Keep = math.NaN()
	}
	for part := f.Part(first); first < last; {
		end := min(last, f.firsts[part+1])
		if first == end {
			part++
			continue
		}
		rows, err := s.rows(part, first, end, r, yield)
		if err != nil {
			return err
		}
		first += rows
	}
	return nil
}

// scanner has a cursor for each column that is asked for; the others are zero.
type scanner struct {
	folder  *Folder
	cursors [columns]cursor
	file    *os.File // of part; nil: none is open
	part    int
}

// cursor reads one column.
type cursor struct {
	column  column
	width   int    // 0: the column is not asked for
	read    []byte // blocks of part, from offset of the file on
	offset  int64
	content []byte // the block among them of group
	part    int    // −1 before the first
	group   int
	count   int // of its rows
	at      int // a row of the block,
	tailed  int // and tail of it
}

func (f *Folder) scanner(c Columns) *scanner {
	s := &scanner{folder: f}
	for col := range columns {
		if c&(1<<col) != 0 {
			s.cursors[col] = cursor{column: col, width: f.form.width(col), part: -1}
		}
	}
	return s
}

// close closes the file, which was only read: there is nothing to learn from it.
func (s *scanner) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// load has c hold the block of a group. Where it reads, it reads the blocks up
// to that of group last with it that stand behind it, readBytes at most.
func (s *scanner) load(c *cursor, part, group, last int) (err error) {
	if c.part == part && c.group == group {
		return nil
	}
	p := &s.folder.parts[part]
	if s.file == nil || s.part != part {
		s.close()
		if s.file, err = os.Open(p.path); err != nil {
			return fmt.Errorf("views: %w", err)
		}
		s.part = part
	}
	all := p.blocks[c.column]
	b := all[group]
	if at := b.offset - c.offset; c.part != part || at < 0 || at >= int64(len(c.read)) {
		end := b.offset + int64(b.size)
		for _, next := range all[group+1 : last+1] {
			if next.offset != end || end+int64(next.size)-b.offset > readBytes {
				break
			}
			end += int64(next.size)
		}
		size := int(end - b.offset)
		c.part = -1
		c.read, c.offset = slices.Grow(c.read[:0], size)[:size], b.offset
		if err := p.read(s.file, c.read, b.offset); err != nil {
			return err
		}
	}
	c.part, c.content, c.count = -1, c.read[b.offset-c.offset:][:b.size], p.groupLen(group)
	c.at, c.tailed = 0, 0
	if xxh3.Hash(c.content) != b.sum || len(c.content) != c.count*c.width+c.tail(c.count) {
		return p.damaged(b.offset, "a block of "+names[c.column]+" is damaged")
	}
	c.part, c.group = part, group
	return nil
}

// tail is how many bytes of letters or samples the rows before row at have. It adds
// up from the row that it was last asked for, unless that is behind.
func (c *cursor) tail(at int) int {
	if units[c.column] == 0 {
		return 0
	}
	if at < c.at {
		c.at, c.tailed = 0, 0
	}
	for _, l := range c.content[c.at:at] {
		c.tailed += int(l) * units[c.column]
	}
	c.at = at
	return c.tailed
}

// rows returns what stands in the block from row at on, and the letters or
// samples from there on; nil of a column not asked for.
func (c *cursor) rows(at int) (rows, tails []byte) {
	if c.width == 0 {
		return nil, nil
	}
	return c.content[at*c.width:], c.content[c.count*c.width+c.tail(at):]
}

// rows yields the documents from first to end − 1 that are in the group of the
// first, all of one part, and returns how many they are.
func (s *scanner) rows(part int, first, end uint64, r *Row, yield func(doc uint64, r *Row) error) (uint64, error) {
	row := first - s.folder.firsts[part]
	group, at := int(row/groupRows), int(row%groupRows)
	last := int((end - 1 - s.folder.firsts[part]) / groupRows)
	cs := &s.cursors
	for i := range cs {
		if cs[i].width > 0 {
			if err := s.load(&cs[i], part, group, last); err != nil {
				return 0, err
			}
		}
	}
	width := cs[fingerprints].width
	fps, _ := cs[fingerprints].rows(at)
	hashes, _ := cs[ids].rows(at)
	values, _ := cs[keeps].rows(at)
	bits, _ := cs[sketches].rows(at)
	lengths, text := cs[letters].rows(at)
	counts, keys := cs[samples].rows(at)
	n := min(groupRows-uint64(at), end-first)
	for i := range n {
		if fps != nil {
			r.lengthClass = setFingerprint(&r.View, fps[:width])
			fps = fps[width:]
		}
		if hashes != nil {
			r.ID = binary.LittleEndian.Uint64(hashes[8*i:])
		}
		if values != nil {
			r.Keep = math.Float64frombits(binary.LittleEndian.Uint64(values[8*i:]))
		}
		if bits != nil {
			setSketch(&r.View, bits[sketchBytes*i:])
		}
		if lengths != nil {
			end := int(lengths[i]) * units[letters]
			r.View.Letters, text = trimPad(text[:end]), text[end:]
		}
		if counts != nil {
			end := int(counts[i]) * units[samples]
			r.View.Sample, keys = keys[:end:end], keys[end:]
		}
		if err := yield(first+i, r); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Reader reads the views of single documents. It holds one block of each column, so
// reading documents in order is fast. It is not safe for concurrent use.
type Reader struct{ *scanner }

// Reader returns a Reader, which the caller must close.
func (f *Folder) Reader() *Reader { return &Reader{f.scanner(Fingerprint | Verdict)} }

// Close closes the file that was read last.
func (r *Reader) Close() { r.close() }

// View sets v to the view of a document, whose letters and sample it appends to
// v.Letters[:0] and v.Sample[:0]. After an error v is undefined.
func (r *Reader) View(doc uint64, v *data.View) error {
	f := r.folder
	if doc >= f.Len() {
		return fmt.Errorf("views: there is no document %d of %d", doc, f.Len())
	}
	*v = data.View{Letters: v.Letters[:0], Sample: v.Sample[:0]}
	part := f.Part(doc)
	row := doc - f.firsts[part]
	for i, lane := 0, byte(0); i < len(r.cursors); i++ {
		c := &r.cursors[i]
		if c.width == 0 || c.column == letters && lane&lettered == 0 || c.column == samples && lane&sampled == 0 {
			continue
		}
		group := int(row / groupRows)
		if err := r.load(c, part, group, group); err != nil {
			return err
		}
		row, tails := c.rows(int(row % groupRows))
		switch c.column {
		case fingerprints:
			lane = setFingerprint(v, row[:c.width])
		case sketches:
			setSketch(v, row)
		case letters:
			v.Letters = append(v.Letters, trimPad(tails[:int(row[0])*units[letters]])...)
		case samples:
			v.Sample = append(v.Sample, tails[:int(row[0])*units[samples]]...)
		}
	}
	return nil
}
