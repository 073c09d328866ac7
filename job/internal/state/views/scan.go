package views

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// Scan calls yield with the documents from first to last − 1, in order, with
// the columns c set. The row is used again for the next; its letters and its
// sample are valid until yield returns. An error of yield ends the scan and is
// returned as it is. Files are read in order, a block at a time for each
// column.
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
		if first == f.firsts[part+1] {
			part++
			continue
		}
		rows, err := s.fill(part, first-f.firsts[part], min(last, f.firsts[part+1])-first)
		if err != nil {
			return err
		}
		if err := s.rows(first, rows, r, yield); err != nil {
			return err
		}
		first += uint64(rows)
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
	width   int // 0: the column is not asked for
	buf     *[blockBytes]byte
	part    int // of the block in buf
	index   int
	content []byte // that block; nil before the first

	left  int    // rows of the block not yet read
	rows  []byte // these rows; behind those of letters or samples
	tails []byte // the letters or samples of these rows
}

func (f *Folder) scanner(c Columns) *scanner {
	s := &scanner{folder: f}
	for col := range columns {
		if width := f.form.width(col); width > 0 && c&(1<<col) != 0 {
			s.cursors[col] = cursor{column: col, width: width, buf: new([blockBytes]byte)}
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

// load has c hold the block of a row, and returns the row's place in it.
func (s *scanner) load(c *cursor, part int, row uint64) (at int, err error) {
	p := &s.folder.parts[part]
	index, at := p.find(c.column, c.width, row)
	if c.content != nil && c.part == part && c.index == index {
		return at, nil
	}
	if s.file == nil || s.part != part {
		s.close()
		if s.file, err = os.Open(p.path); err != nil {
			return 0, fmt.Errorf("views: %w", err)
		}
		s.part = part
	}
	b := p.blocks[c.column][index]
	c.content = nil
	content := c.buf[:b.size]
	if err := p.read(s.file, content, b.offset); err != nil {
		return 0, err
	}
	if xxh3.Hash(content) != b.sum || c.column >= letters && units[c.column]*sum(content[:b.rows]) != int(b.size-b.rows) {
		return 0, p.damaged(b.offset, "a block of "+names[c.column]+" is damaged")
	}
	c.part, c.index, c.content = part, index, content
	return at, nil
}

// fill loads blocks for the next row, and returns how many rows all columns
// have, most at most.
func (s *scanner) fill(part int, row, most uint64) (rows int, err error) {
	for i := range s.cursors {
		c := &s.cursors[i]
		if c.width == 0 {
			continue
		}
		if c.left == 0 {
			at, err := s.load(c, part, row)
			if err != nil {
				return 0, err
			}
			rows := s.folder.blockRows(c)
			c.left, c.rows = rows-at, c.content[at*c.width:]
			if unit := units[c.column]; unit > 0 {
				c.tails = c.content[rows+unit*sum(c.content[:at]):]
			}
		}
		most = min(most, uint64(c.left))
	}
	return int(most), nil
}

// blockRows is how many rows the block has that c holds.
func (f *Folder) blockRows(c *cursor) int {
	return int(f.parts[c.part].blocks[c.column][c.index].rows)
}

// take returns the next rows and moves on; nil of a column not asked for.
func (c *cursor) take(rows int) (taken []byte) {
	if c.width == 0 {
		return nil
	}
	taken, c.rows = c.rows[:rows*c.width], c.rows[rows*c.width:]
	c.left -= rows
	return taken
}

// tail returns the letters or sample of the next row, of that length, and moves
// on.
func (c *cursor) tail(length byte) (taken []byte) {
	n := int(length) * units[c.column]
	taken, c.tails = c.tails[:n:n], c.tails[n:]
	return taken
}

// rows yields so many rows, which all columns have.
func (s *scanner) rows(first uint64, rows int, r *Row, yield func(doc uint64, r *Row) error) error {
	cs := &s.cursors
	width := cs[fingerprints].width
	fps, hashes, values := cs[fingerprints].take(rows), cs[ids].take(rows), cs[keeps].take(rows)
	bits, lengths, keys := cs[sketches].take(rows), cs[letters].take(rows), cs[samples].take(rows)
	for i := range rows {
		if fps != nil {
			r.lane = setFingerprint(&r.View, fps[:width])
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
			r.View.Letters = trimPad(cs[letters].tail(lengths[i]))
		}
		if keys != nil {
			r.View.Sample = cs[samples].tail(keys[i])
		}
		if err := yield(first+uint64(i), r); err != nil {
			return err
		}
	}
	return nil
}

// Reader reads the views of single documents. It holds a block of each column,
// so documents that come in order are read quickly. One goroutine uses it at a
// time.
type Reader struct{ *scanner }

// Reader returns a Reader; Close follows.
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
	for i, lane := 0, byte(0); i < len(r.cursors); i++ {
		c := &r.cursors[i]
		if c.width == 0 || c.column == letters && lane&lettered == 0 || c.column == samples && lane&sampled == 0 {
			continue
		}
		at, err := r.load(c, part, doc-f.firsts[part])
		if err != nil {
			return err
		}
		row := c.content[at*c.width:][:c.width]
		var tail []byte
		if unit := units[c.column]; unit > 0 {
			tail = c.content[f.blockRows(c)+unit*sum(c.content[:at]):][:unit*int(row[0])]
		}
		switch c.column {
		case fingerprints:
			lane = setFingerprint(v, row)
		case sketches:
			setSketch(v, row)
		case letters:
			v.Letters = append(v.Letters, trimPad(tail)...)
		case samples:
			v.Sample = append(v.Sample, tail...)
		}
	}
	return nil
}
